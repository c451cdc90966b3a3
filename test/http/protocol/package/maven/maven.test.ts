import { createHash } from "node:crypto";
import { expect } from "chai";
import { compareMavenVersions } from "../../../../../src/package/maven/metadata.ts";
import { basicAuth } from "../../../../support/app/basic-auth.ts";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { mavenPlugin } from "../../../../support/git/archive.ts";

const { app, anna, at } = await startRegistryApp();
const base = `${app.url}/registry/project/anna/forge/repository/mvn`;
const authorization = basicAuth("anna", anna.token);

before(() => at.local("mvn", "maven", { packageReuploadType: "NONE" }));

const put = (path: string, body: string | Buffer) =>
  fetch(`${base}/${path}`, { method: "PUT", headers: { authorization }, body } as RequestInit);
const get = (path: string) => fetch(`${base}/${path}`, { headers: { authorization } });
const text = async (path: string) => {
  const answer = await get(path);
  expect(answer.status, path).to.equal(200);
  return answer.text();
};
const sum = (name: string, content: string | Buffer) =>
  createHash(name).update(content).digest("hex");

/** In the order in which Maven 3.8 deploys. */
async function deploy(path: string, content: string | Buffer): Promise<void> {
  expect((await put(path, content)).status, path).to.equal(201);
  for (const name of ["sha1", "md5"]) {
    expect((await put(`${path}.${name}`, sum(name, content))).status).to.equal(201);
  }
}

describe("the Maven layout", () => {
  it("requires credentials before it answers", async () => {
    const answer = await fetch(`${base}/org/acme/lib/maven-metadata.xml`);
    expect(answer.status).to.equal(401);
    expect((await get("org/acme/none/maven-metadata.xml")).status).to.equal(404);
  });

  it("keeps a release and makes its metadata, which clients cannot change", async () => {
    for (const version of ["1.0", "1.10", "1.9-rc1"]) {
      await deploy(`org/acme/lib/${version}/lib-${version}.jar`, `jar ${version}`);
      await deploy(`org/acme/lib/${version}/lib-${version}.pom`, `pom ${version}`);
      const forged = "<metadata><versioning><latest>666</latest></versioning></metadata>";
      expect((await put("org/acme/lib/maven-metadata.xml", forged)).status).to.equal(201);
    }
    expect(await text("org/acme/lib/1.0/lib-1.0.jar")).to.equal("jar 1.0");
    for (const name of ["md5", "sha1", "sha256", "sha512"]) {
      const served = await text(`org/acme/lib/1.0/lib-1.0.jar.${name}`);
      expect(served).to.equal(sum(name, "jar 1.0"));
    }
    const metadata = await text("org/acme/lib/maven-metadata.xml");
    expect(metadata).to.contain("<latest>1.10</latest><release>1.10</release>");
    expect(metadata).to.contain("<version>1.0</version><version>1.10</version>");
    expect(await text("org/acme/lib/maven-metadata.xml.sha1")).to.equal(sum("sha1", metadata));
  });

  it("refuses a sum that does not match and a release that is there with other content", async () => {
    await deploy("org/acme/once/1/once-1.jar", "one");
    expect((await put("org/acme/once/1/once-1.jar.sha1", "0".repeat(40))).status).to.equal(400);
    expect((await put("org/acme/once/1/once-1.jar", "two")).status).to.equal(409);
    expect((await put("org/acme/once/1/once-1.jar", "one")).status, "again").to.equal(409);
    expect(await text("org/acme/once/1/once-1.jar")).to.equal("one");
  });

  it("keeps the builds of a snapshot and names the newest of each file", async () => {
    const folder = "org/acme/snap/2.0-SNAPSHOT";
    const first = "2.0-20261121.120000-1";
    const second = "2.0-20261122.090000-2";
    await deploy(`${folder}/snap-${first}.jar`, "first");
    await deploy(`${folder}/snap-${first}-sources.jar`, "sources");
    await deploy(`${folder}/snap-${second}.jar`, "second");
    const metadata = await text(`${folder}/maven-metadata.xml`);
    expect(metadata).to.contain(
      "<snapshot><timestamp>20261122.090000</timestamp><buildNumber>2</buildNumber></snapshot>",
    );
    expect(metadata).to.contain(`<extension>jar</extension><value>${second}</value>`);
    expect(metadata).to.contain(
      `<classifier>sources</classifier><extension>jar</extension><value>${first}</value>`,
    );
    expect(await text(`${folder}/snap-${first}.jar`)).to.equal("first");
    const artifact = await text("org/acme/snap/maven-metadata.xml");
    expect(artifact).to.contain("<versions><version>2.0-SNAPSHOT</version></versions>");
    expect(artifact).not.to.contain("<release>");
  });

  it("takes no file that is not named like its folder", async () => {
    const head = await app.head();
    for (const path of [
      "org/acme/lib/1.0/other-1.0.jar",
      "org/acme/lib/1.0/lib-2.0.jar",
      "org/acme/lib/1.0/lib-1.0x.jar",
      "org/acme/snap/2.0-SNAPSHOT/snap-2.0-20261121.jar",
      "org/ac me/lib/1.0/lib-1.0.jar",
      "lib-1.0.jar",
    ]) {
      expect((await put(path, "x")).status, path).to.equal(422);
    }
    expect(await app.head()).to.equal(head);
  });
});

describe("a plugin of sbt", () => {
  it("is stored under its full name and under the one that older versions request", async () => {
    const folder = "org/acme/plug_2.12_1.0";
    for (const name of ["plug_2.12_1.0", "plug"]) {
      await deploy(`${folder}/1.0/${name}-1.0.jar`, `jar of ${name}`);
      await deploy(`${folder}/1.0/${name}-1.0-sources.jar`, `sources of ${name}`);
      await deploy(`${folder}/1.1-SNAPSHOT/${name}-1.1-SNAPSHOT.pom`, `pom of ${name}`);
    }
    expect(await text(`${folder}/1.0/plug-1.0.jar`)).to.equal("jar of plug");
    const md5 = await text(`${folder}/1.0/plug-1.0-sources.jar.md5`);
    expect(md5).to.equal(sum("md5", "sources of plug"));
    const snapshot = await text(`${folder}/1.1-SNAPSHOT/maven-metadata.xml`);
    expect(snapshot.match(/<extension>[^<]*</g)).to.deep.equal(["<extension>pom<"]);
    for (const other of ["other-1.0.jar", "plug_2.12-1.0.jar", "plug-2.0.jar"]) {
      expect((await put(`${folder}/1.0/${other}`, "x")).status, other).to.equal(422);
    }
  });
});

describe("a plugin of Maven", () => {
  const listed = (prefix: string, artifactId: string): string =>
    `<plugin><name>${artifactId}</name><prefix>${prefix}</prefix><artifactId>${artifactId}</artifactId></plugin>`;
  const jar = (id: string, version: string, ending = ".jar"): string =>
    `org/acme/${id}/${version}/${id}-${version}${ending}`;

  it("is found by the prefix of its goals in the metadata of its group", async () => {
    expect((await get("org/acme/maven-metadata.xml")).status).to.equal(404);
    await deploy(jar("hello-plugin", "1.0"), mavenPlugin("hi"));
    await deploy(jar("hello-plugin", "1.1"), mavenPlugin("hello"));
    await deploy(jar("hello-plugin", "1.1", ".pom"), "pom");
    await deploy(
      jar("two-plugin", "2-20261121.120000-1").replace(/2-[\d.-]+\//, "2-SNAPSHOT/"),
      mavenPlugin("two"),
    );
    await deploy(jar("cut-plugin", "1"), mavenPlugin("cut").subarray(0, -9));
    await deploy(jar("bad-plugin", "1"), mavenPlugin("<b>"));
    await deploy(jar("shaded", "1", "-sources.jar"), mavenPlugin("sources"));
    await deploy("org/acme.deep/other/1/other-1.jar", mavenPlugin("deep"));
    const found = await text("org/acme/maven-metadata.xml");
    const plugins = `<plugins>${listed("hello", "hello-plugin")}${listed("two", "two-plugin")}</plugins>`;
    expect(found.split("\n")[1]).to.equal(`<metadata>${plugins}</metadata>`);
    expect(await text("org/acme/maven-metadata.xml.sha1")).to.equal(sum("sha1", found));
  });

  it("is found where it was stored before its prefix was kept", async () => {
    const at = (id: string, version: string, ending = ".jar") =>
      `org/former/${id}/${version}/${id}-${version}${ending}`;
    await deploy(at("old-maven-plugin", "1"), mavenPlugin("old"));
    await deploy(at("old-maven-plugin", "1", "-sources.jar"), mavenPlugin("sources"));
    await deploy(at("cut-plugin", "1"), mavenPlugin("cut").subarray(0, -9));
    await deploy(at("library", "1"), mavenPlugin("library"));
    await deploy(at("new-plugin", "1"), mavenPlugin("new"));
    await deploy(at("new-plugin", "2"), mavenPlugin("newer"));
    const files = app.deps.db("package_file").whereNotNull("metadata");
    await files.whereRaw("name ~ '^(old|library|new-plugin-1)'").update({ metadata: null });
    const found = await text("org/former/maven-metadata.xml");
    const plugins = listed("newer", "new-plugin") + listed("old", "old-maven-plugin");
    expect(found).to.contain(`<plugins>${plugins}</plugins>`);
  });

  it("is listed beside the versions of an artifact that has the path of its group", async () => {
    await deploy("org/both/tool/1/tool-1.jar", "a library");
    await deploy("org/both/tool/tool-plugin/1/tool-plugin-1.jar", mavenPlugin("tool"));
    const found = await text("org/both/tool/maven-metadata.xml");
    expect(found).to.contain("<versions><version>1</version></versions>");
    expect(found).to.contain(`<plugins>${listed("tool", "tool-plugin")}</plugins></metadata>`);
    await deploy("single/plug/1/plug-1.jar", mavenPlugin("single"));
    expect(await text("single/maven-metadata.xml")).to.contain(listed("single", "plug"));
  });
});

describe("versions of Maven", () => {
  it("are ordered by value and meaning", () => {
    const sorted = [
      "1.0-alpha-1",
      "1.0-beta",
      "1.0-m2",
      "1.0-rc1",
      "1.0-SNAPSHOT",
      "1.0",
      "1.0-sp1",
      "1.0.1",
      "1.2",
      "1.10",
      "2",
    ];
    const mixed = [...sorted].reverse().sort(compareMavenVersions);
    expect(mixed).to.deep.equal(sorted);
    expect(compareMavenVersions("1", "1.0")).to.equal(0);
  });
});
