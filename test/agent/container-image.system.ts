import { expect } from "chai";

import { authsOf, checkedImageName, registryOf } from "../../src/agent/container-image.ts";
import { hostNamesOf, portOf } from "../../src/agent/container-service.ts";

const credentials = [{ type: "registry", url: "forge:8080", username: "ci", password: "t" }];

describe("the name of an image", () => {
  for (const name of [
    ...["--privileged", "-v", "-v /:/host", "", "a b", "a;b", "$(id)", "a\nb", "../x", "/x", "x//"],
    ...["dir:/etc", "dir:80/etc", "oci:etc/x", "oci-archive:x", "docker-archive:/root/x.tar"],
    ...["docker-archive:x.tar", "docker://x", "containers-storage:x", "forge:port/x"],
    ...["f".repeat(64), `sha256:${"0".repeat(64)}`, "x".repeat(513)],
  ]) {
    it(`is not ${JSON.stringify(name.slice(0, 40))}`, () => {
      expect(() => checkedImageName(name)).to.throw(/is not the name of an image/);
    });
  }

  it("is one of a registry", () => {
    const digest = `sha256:${"0".repeat(64)}`;
    const names = [
      ...["alpine", "docker:24-dind", "Anna/app", "library/debian:12", `debian@${digest}`],
      ...["127.0.0.1:8080/anna/forge/images/app:1.0", `[::1]:80/a:1@${digest}`, "localhost/a"],
    ];
    expect(names.map(checkedImageName)).to.deep.equal(names);
    expect(names.map(registryOf)).to.deep.equal([
      ...Array.from({ length: 5 }, () => "docker.io"),
      ...["127.0.0.1:8080", "[::1]:80", "localhost"],
    ]);
  });
});

describe("logins of a job at registries", () => {
  it("are those of the service, unless DOCKER_AUTH_CONFIG has others", () => {
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    expect(authsOf({ credentials })).to.deep.equal({ "forge:8080": { auth: base64("ci:t") } });
    const own = { auths: { "forge:8080": { auth: "b" }, r: { username: "u", password: "p" } } };
    const text = JSON.stringify({ ...own, credsStore: "any", credHelpers: { r: "any" } });
    expect(authsOf({ credentials }, text)).to.deep.equal({
      "forge:8080": { auth: "b" },
      r: { auth: base64("u:p") },
    });
    expect(() => authsOf({ credentials }, "{}")).to.throw(/DOCKER_AUTH_CONFIG is not JSON/);
  });
});

describe("the host names of a service", () => {
  it("are its aliases and two of its image", () => {
    expect(hostNamesOf("postgres:17", "db, cache")).to.deep.equal(["db", "cache", "postgres"]);
    const image = `registry.example:5000/team/db:1@sha256:${"0".repeat(64)}`;
    expect(hostNamesOf(image, "--publish=80:80")).to.deep.equal([
      "registry.example__team__db",
      "registry.example-team-db",
    ]);
  });
});

describe("the port on which a service is awaited", () => {
  it("is the lowest of its image, or HEALTHCHECK_TCP_PORT", () => {
    const variables = [{ key: "HEALTHCHECK_TCP_PORT", value: "8080" }].map((each) => ({
      ...each,
      ...{ public: true, masked: false, file: false, raw: false },
    }));
    expect(portOf({ variables: [] }, ["8443/tcp", "53/udp", "900/tcp", ""])).to.equal(900);
    expect(portOf({ variables }, ["80/tcp"])).to.equal(8_080);
    expect(portOf({ variables: [] }, [""])).to.equal(undefined);
  });
});
