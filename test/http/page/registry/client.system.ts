import { existsSync } from "node:fs";
import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { desksAt, follow } from "../../../support/client/client-lines.ts";
import { nativeRegistry, run } from "../../../support/client/native-registry.ts";
import { composerZip, debControl, zip } from "../../../support/git/archive.ts";
import { needsProgram, skipFor } from "../../../support/process/program.ts";

/** The lines that pages of repositories print, read from the page and given to the client as they stand. */
const { app, anna, at } = await nativeRegistry();
const deskFor = desksAt(app, anna, at);

const words = { NAME: "pad", VERSION: "1.0.0", FILE: "pad-1.0.0" };

describe("the lines for plain files", () => {
  for (const type of ["generic", "opm"] as const) {
    it(`publish and fetch one of ${type}`, async () => {
      const desk = await deskFor(type, { ...words, FILE: "pad.opm" });
      await desk.publish(await desk.folder("made", { "pad.opm": "pad" }));
      const used = await desk.folder("used");
      await desk.install(used);
      expect(await readFile(path.join(used, "pad.opm"), "utf8")).to.equal("pad");
    });
  }
});

describe("the lines for npm", () => {
  needsProgram("npm");

  it("publish and install", async () => {
    const desk = await deskFor("npm", words, () => ({ npm_config_update_notifier: "false" }));
    const manifest = JSON.stringify({ name: "pad", version: "1.0.0" });
    await desk.publish(await desk.folder("made", { "package.json": manifest }));
    const used = await desk.folder("used", { "package.json": "{}" });
    await desk.install(used);
    expect(await readdir(path.join(used, "node_modules"))).to.include("pad");
  }).timeout(240_000);
});

describe("the lines for pip and twine", () => {
  needsProgram("pip", "twine");

  it("upload and install", async () => {
    const desk = await deskFor("pypi", words, (home) => ({
      ...{ PIP_TARGET: path.join(home, "target"), PIP_NO_CACHE_DIR: "1" },
      ...{ PIP_DISABLE_PIP_VERSION_CHECK: "1", PYENV_VERSION: process.env["PYENV_VERSION"] },
    }));
    const info = "pad-1.0.0.dist-info";
    const built = zip([
      [`${info}/METADATA`, "Metadata-Version: 2.1\nName: pad\nVersion: 1.0.0\n"],
      [`${info}/WHEEL`, "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"],
      [`${info}/RECORD`, `${info}/METADATA,,\n${info}/WHEEL,,\n${info}/RECORD,,\n`],
    ]);
    await desk.publish(await desk.folder("made", { "dist/pad-1.0.0-py3-none-any.whl": built }));
    await desk.install(desk.home);
    expect(await readdir(path.join(desk.home, "target"))).to.include("pad-1.0.0.dist-info");
  }).timeout(240_000);
});

const maven = "/usr/share/maven-repo";
const deployPlugin = `${maven}/org/apache/maven/plugins/maven-deploy-plugin`;

describe("the lines for mvn", () => {
  if (
    !needsProgram("mvn") ||
    !skipFor(existsSync(deployPlugin) ? [] : ["maven-deploy-plugin is not installed"])
  )
    return;

  it("deploy and resolve", async () => {
    // Java does not read HOME.
    const options = (home: string) => ({
      MAVEN_OPTS: `-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Duser.home=${home}`,
    });
    const desk = await deskFor("maven", { ...words, GROUP: "org.acme" }, options);
    const { setUp, install, publish } = desk.printed;
    const local = path.join(desk.home, "local");
    const mirror = `<mirrors><mirror><id>installed</id><mirrorOf>*,!all-maven</mirrorOf><url>file://${maven}</url></mirror></mirrors>`;
    await desk.folder(".m2", {
      "settings.xml": `<settings><localRepository>${local}</localRepository>${setUp}${mirror}</settings>`,
    });
    const version = (await readdir(deployPlugin)).sort().at(-1) ?? "";
    const plugin = `org.apache.maven.plugins:maven-deploy-plugin:${version}`;
    const pom = (name: string, more: string) =>
      `<project><modelVersion>4.0.0</modelVersion><groupId>org.acme</groupId><artifactId>${name}</artifactId><version>1.0.0</version><packaging>pom</packaging>${more}</project>`;
    const made = await desk.folder("made", { "pom.xml": pom("pad", "") });
    // Plugins of the phases before are not installed: the goal instead of the phase, all else as printed.
    const goal = (line: string) => line.replace("mvn deploy", `mvn -B -q ${plugin}:deploy`);
    const { home } = desk;
    await follow(goal(publish), { cwd: made, home, env: options(home) });
    const answer = await fetch(
      `${/https?:\S+/.exec(publish)?.[0]}org/acme/pad/1.0.0/pad-1.0.0.pom`,
      {
        headers: { authorization: `Bearer ${anna.token}` },
      },
    );
    expect(await answer.text()).to.contain("<artifactId>pad</artifactId>");
    const build = `<build><plugins><plugin><groupId>org.apache.maven.plugins</groupId><artifactId>maven-deploy-plugin</artifactId><version>${version}</version><dependencies><dependency><groupId>org.acme</groupId><artifactId>pad</artifactId><version>1.0.0</version><type>pom</type></dependency></dependencies></plugin></plugins></build>`;
    // Of the goals that are installed none resolves dependencies of the project; those of a plugin come the
    // same way, from repositories of plugins.
    const plugins = install
      .slice(0, install.indexOf("<dependencies>"))
      .replaceAll(/(<\/?)repositor/g, "$1pluginRepositor");
    const used = await desk.folder("used", { "pom.xml": pom("user", `${plugins}${build}`) });
    await follow(`mvn -B -q ${plugin}:help`, { cwd: used, home, env: options(home) });
    expect(await readdir(path.join(local, "org/acme/pad/1.0.0"))).to.include("pad-1.0.0.pom");
  }).timeout(240_000);
});

describe("the lines for cargo", () => {
  needsProgram("cargo");

  it("publish and add", async () => {
    const tools = { RUSTUP_HOME: process.env["RUSTUP_HOME"] ?? `${process.env["HOME"]}/.rustup` };
    const desk = await deskFor("cargo", words, (home) => ({
      ...tools,
      CARGO_HOME: path.join(home, "cargo"),
    }));
    const crate = (name: string) => ({
      "Cargo.toml": `[package]\nname = "${name}"\nversion = "1.0.0"\nedition = "2021"\nlicense = "MIT"\ndescription = "x"\n`,
      "src/lib.rs": "pub fn one() -> u8 { 1 }\n",
    });
    await desk.publish(await desk.folder("made", crate("pad")));
    const used = await desk.folder("used", crate("user"));
    await desk.setUp(used);
    await desk.install(used);
    expect(await readFile(path.join(used, "Cargo.toml"), "utf8")).to.contain('registry = "forge"');
    await follow("cargo fetch", {
      cwd: used,
      home: desk.home,
      env: { ...tools, CARGO_HOME: `${desk.home}/cargo` },
    });
  }).timeout(240_000);
});

describe("the lines for composer", () => {
  needsProgram("composer");

  it("publish and require", async () => {
    const desk = await deskFor("composer", { ...words, VENDOR: "acme" }, (home) => ({
      ...{ COMPOSER_HOME: path.join(home, "composer"), COMPOSER_ALLOW_SUPERUSER: "1" },
      COMPOSER_NO_INTERACTION: "1",
    }));
    // The public registry is not queried.
    await desk.folder("composer", { "config.json": '{"repositories":[{"packagist.org":false}]}' });
    const used = await desk.folder("used", {
      "composer.json": "{}",
      "pad.zip": composerZip({ name: "acme/pad", version: "1.0.0" }),
    });
    await desk.publish(used);
    await desk.install(used);
    expect(await readdir(path.join(used, "vendor/acme"))).to.deep.equal(["pad"]);
  }).timeout(240_000);
});

describe("the lines for gem", () => {
  needsProgram("gem", "ruby");

  it("push and install", async () => {
    const desk = await deskFor("rubygem", words, (home) => ({
      ...{ GEM_HOME: path.join(home, "gems"), GEM_SPEC_CACHE: path.join(home, "cache") },
      GEMRC: path.join(home, "gemrc"),
    }));
    await writeFile(path.join(desk.home, "gemrc"), ":sources: []\ngem: --no-document\n");
    const made = await desk.folder("made", {
      "pad.gemspec":
        'Gem::Specification.new { |s| s.name = "pad"; s.version = "1.0.0"; s.summary = "x"; s.authors = ["A"]; s.files = [] }',
    });
    await follow("gem build -q pad.gemspec", { cwd: made, home: desk.home });
    await desk.publish(made);
    await desk.install(desk.home);
    expect(await readdir(path.join(desk.home, "gems/gems"))).to.deep.equal(["pad-1.0.0"]);
  }).timeout(240_000);
});

describe("the lines for go", () => {
  needsProgram("go");

  it("upload and get a module", async () => {
    const module = { ...words, VERSION: "v1.0.0", MODULE: "example.org/pad" };
    const env = (home: string) => ({
      ...{ GOPATH: path.join(home, "go"), GOCACHE: path.join(home, "cache") },
      ...{ GOTOOLCHAIN: "local", GOFLAGS: "-modcacherw" },
    });
    const desk = await deskFor("go", module, env, { hasAnonymousAccess: true });
    const content = zip([
      ["example.org/pad@v1.0.0/go.mod", "module example.org/pad\n\ngo 1.18\n"],
      ["example.org/pad@v1.0.0/pad.go", "package pad\n"],
    ]);
    await desk.publish(await desk.folder("made", { "pad-1.0.0.zip": content }));
    const used = await desk.folder("used", { "go.mod": "module example.org/user\n\ngo 1.18\n" });
    // What is exported holds for the shell that installs.
    const { setUp, install } = desk.printed;
    await follow(`${setUp}\n${install}`, { cwd: used, home: desk.home, env: env(desk.home) });
    expect(await readFile(path.join(used, "go.mod"), "utf8")).to.contain("example.org/pad v1.0.0");
  }).timeout(240_000);
});

describe("the lines for apt", () => {
  needsProgram("apt-get", "dpkg-deb", "gpgv");

  it("upload, update and fetch", async () => {
    const names = { ...words, DISTRIBUTION: "stable", COMPONENT: "main" };
    const env = (home: string) => ({ APT_CONFIG: path.join(home, "apt.conf") });
    const desk = await deskFor("debian", names, env);
    const made = await desk.folder("made", {
      "pad/DEBIAN/control": debControl("pad", "1.0.0", "all"),
    });
    await run("dpkg-deb", ["--build", "pad", "pad-1.0.0.deb"], { cwd: made });
    await desk.folder("etc/apt/sources.list.d");
    await desk.folder("lists/partial");
    await desk.folder("cache/archives/partial");
    const { home } = desk;
    const conf = [
      ...[`Dir::State "${home}";`, `Dir::State::lists "${home}/lists";`],
      ...[`Dir::State::status "${home}/status";`, `Dir::Cache "${home}/cache";`],
      ...[`Dir::Etc "${home}/etc/apt";`, `Dir::Log "${home}";`, 'APT::Sandbox::User "";'],
      // Nothing of the machine changes: what would be installed is fetched.
      ...['APT::Get::Download-Only "true";', 'APT::Get::Assume-Yes "true";'],
      ...['APT::Architecture "amd64";', 'Acquire::Languages "none";'],
    ];
    await desk.folder(".", { "apt.conf": conf.join("\n"), status: "" });
    await desk.publish(made);
    await desk.install(home);
    expect(await readdir(path.join(home, "cache/archives"))).to.include("pad_1.0.0_all.deb");
  }).timeout(240_000);
});

describe("the lines for dnf", () => {
  needsProgram("dnf", "rpmbuild");

  it("upload and fetch what the key signs", async () => {
    const desk = await deskFor("rpm", words, (home) => ({
      PATH: `${home}/bin:${process.env["PATH"]}`,
    }));
    const { home } = desk;
    // Nothing of the machine changes: dnf has a root and settings of its own.
    const flags = `-y --installroot ${home}/root --releasever=1 --downloadonly --destdir ${home}/out --setopt=reposdir=${home}/etc/yum.repos.d --setopt=cachedir=${home}/cache --setopt=persistdir=${home}/kept --setopt=logdir=${home} --disableplugin='*'`;
    const real = (await run("bash", ["-c", "command -v dnf"])).stdout.trim();
    const bin = await desk.folder("bin", { dnf: `#!/bin/sh\nexec ${real} ${flags} "$@"\n` });
    await chmod(path.join(bin, "dnf"), 0o755);
    const made = await desk.folder("made", {
      "pad.spec":
        "Name: pad\nVersion: 1.0.0\nRelease: 1\nSummary: x\nLicense: MIT\nBuildArch: noarch\n%description\nx\n%files\n",
    });
    await follow(`rpmbuild -bb --define="_topdir ${made}" pad.spec`, { cwd: made, home });
    await run("mv", [`${made}/RPMS/noarch/pad-1.0.0-1.noarch.rpm`, `${made}/pad-1.0.0.rpm`]);
    await desk.publish(made);
    await desk.install(home);
    expect(await readdir(path.join(home, "out"))).to.deep.equal(["pad-1.0.0-1.noarch.rpm"]);
  }).timeout(240_000);
});
