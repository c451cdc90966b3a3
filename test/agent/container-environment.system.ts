import { expect } from "chai";

import { passedOf } from "../../src/agent/container-environment.ts";

const passed = (variables: Readonly<Record<string, string>>) =>
  passedOf(new Map(Object.entries(variables)));

describe("variables of a container", () => {
  it("are in the file when every engine reads them there as they are", () => {
    const file = { URL: "postgres://u:p@db:5432/x?a=b&c=d", OPTIONS: "-a 1; (b|c)", EMPTY: "" };
    const lines = Object.entries(file).map(([name, value]) => `${name}=${value}\n`);
    expect(passed(file)).to.deep.equal({ file: lines.join(""), environment: {}, omitted: [] });
  });

  it("are in the environment of the client otherwise", () => {
    const values = ["a\nb", '"a"', "'a'", "a #b", "$a", "`a`", "a\\", " a", "a ", "a\tb", "é"];
    for (const value of [...values, "x".repeat(60_000)]) {
      expect(passed({ A: value }), value).to.deep.equal({
        ...{ file: "", environment: { A: value }, omitted: [] },
      });
    }
    const names = ["CI_COMMIT_MESSAGE", "GOOGLE_KEY", "LDAP_CONF", "DOCKERFILE", "PROXY", "PATHS"];
    const all = Object.fromEntries(names.map((name) => [name, "a\nb"]));
    expect(passed(all).environment).to.deep.equal(all);
  });

  it("are left out where they could change what the client does", () => {
    const names = [
      ...["PATH", "LD_PRELOAD", "DOCKER_HOST", "CONTAINERS_CONF", "_CONTAINERS_ROOTLESS_UID"],
      ...["HTTPS_PROXY", "no_proxy", "GODEBUG", "container", "BASH_ENV", "STORAGE_OPTS"],
    ];
    const all = passed(Object.fromEntries(names.map((name) => [name, "a\nb"])));
    expect(all).to.deep.equal({ file: "", environment: {}, omitted: names });
  });
});
