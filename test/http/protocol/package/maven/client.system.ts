import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { nativeRegistry } from "../../../../support/client/native-registry.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import { needsProgram, skipFor } from "../../../../support/process/program.ts";

/** Where Debian installs plugins of Maven; it has the layout of a repository. */
const installed = "/usr/share/maven-repo";
const pluginKey = "org.apache.maven.plugins:maven-deploy-plugin";
const pluginFolder = path.join(installed, "org/apache/maven/plugins/maven-deploy-plugin");

const dependency = (id: string, version: string, more = "") =>
  `<dependency><groupId>org.acme</groupId><artifactId>${id}</artifactId><version>${version}</version>${more}</dependency>`;

/** A project whose deploy plugin needs libraries of the repository: Maven resolves them before it runs. */
const project = (base: string, version: string, dependencies: string) => `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.acme</groupId><artifactId>user</artifactId><version>1</version><packaging>pom</packaging>
  <pluginRepositories><pluginRepository><id>forge</id><url>${base}</url>
    <releases><checksumPolicy>fail</checksumPolicy></releases>
    <snapshots><checksumPolicy>fail</checksumPolicy></snapshots>
  </pluginRepository></pluginRepositories>
  <build><plugins><plugin><groupId>org.apache.maven.plugins</groupId>
    <artifactId>maven-deploy-plugin</artifactId><version>${version}</version>
    <dependencies>${dependencies}</dependencies>
  </plugin></plugins></build>
</project>`;

const settings = (local: string, token: string) => `<settings>
  <localRepository>${local}</localRepository>
  <servers><server><id>forge</id><username>anna</username><password>${token}</password></server></servers>
  <mirrors><mirror><id>installed</id><mirrorOf>*,!forge</mirrorOf><url>file://${installed}</url></mirror></mirrors>
</settings>`;

describe("mvn", () => {
  if (
    !needsProgram("mvn") ||
    !skipFor(existsSync(pluginFolder) ? [] : ["maven-deploy-plugin is not installed"])
  )
    return;

  it("deploys releases and snapshots, and resolves them by their sums", async () => {
    const { at, anna, baseOf } = await nativeRegistry();
    await at.local("mvn", "maven", { packageReuploadType: "NONE" });
    const base = baseOf("mvn");
    const cwd = await temporaryDirectory();
    const version = (await readdir(pluginFolder)).sort().at(-1) ?? "";
    const write = (name: string, text: string) => writeFile(path.join(cwd, name), text);
    await write("settings.xml", settings(path.join(cwd, "local"), anna.token));
    const env = { ...process.env, MAVEN_OPTS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" };
    const mvn = (goal: string, ...args: readonly string[]) =>
      promisify(execFile)("mvn", ["-B", "-q", "-s", "settings.xml", goal, ...args], { cwd, env });
    const deploy = async (id: string, number: string, content: string, ...more: string[]) => {
      await write("it.jar", content);
      const properties = { file: "it.jar", groupId: "org.acme", artifactId: id, version: number };
      const flags = Object.entries(properties).map(([key, value]) => `-D${key}=${value}`);
      const goal = `${pluginKey}:${version}:deploy-file`;
      const to = [`-Durl=${base}`, "-DrepositoryId=forge", "-Dpackaging=jar"];
      await mvn(goal, ...flags, ...to, ...more);
    };
    await deploy("lib", "1.0", "release");
    await deploy("snap", "2.0-SNAPSHOT", "older build");
    await write("sources.jar", "the sources");
    await deploy("snap", "2.0-SNAPSHOT", "newer build", "-Dsources=sources.jar");

    const sources = dependency("snap", "2.0-SNAPSHOT", "<classifier>sources</classifier>");
    const wanted = [dependency("lib", "[0.9,2)"), dependency("snap", "2.0-SNAPSHOT"), sources];
    await write("pom.xml", project(base, version, wanted.join("")));
    await mvn(`${pluginKey}:${version}:help`);
    const resolved = (name: string) => readFile(path.join(cwd, "local/org/acme", name), "utf8");
    expect(await resolved("lib/1.0/lib-1.0.jar")).to.equal("release");
    expect(await resolved("snap/2.0-SNAPSHOT/snap-2.0-SNAPSHOT.jar")).to.equal("newer build");
    const name = "snap/2.0-SNAPSHOT/snap-2.0-SNAPSHOT-sources.jar";
    expect(await resolved(name)).to.equal("the sources");

    const again = await deploy("lib", "1.0", "other").catch(({ stdout }) => String(stdout));
    expect(again).to.include("409");
  }).timeout(240_000);
});
