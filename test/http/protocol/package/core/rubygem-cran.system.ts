import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { expect } from "chai";
import { basicAuth } from "../../../../support/app/basic-auth.ts";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { type ArchiveFile, tar, tgz, zip } from "../../../../support/git/archive.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import { needsProgram } from "../../../../support/process/program.ts";

const run = promisify(execFile);
const { app, anna, at, baseOf } = await startRegistryApp();
const authorization = basicAuth("anna", anna.token);
const get = (url: string, headers: Record<string, string> = {}) =>
  fetch(url, { headers: { authorization, ...headers } });
const send = (method: string, url: string, body: Buffer | string, headers = { authorization }) =>
  fetch(url, { method, headers, body: typeof body === "string" ? body : new Uint8Array(body) });
const held = async () => Number((await app.deps.db("public.blob_hold").count())[0]!["count"]);
const digestOf = (algorithm: string, content: Buffer | string) =>
  createHash(algorithm).update(content).digest("hex");
async function bytes(url: string): Promise<Buffer> {
  const answer = await get(url);
  expect(answer.status, url).to.equal(200);
  return Buffer.from(await answer.arrayBuffer());
}
const textOf = async (url: string) => (await bytes(url)).toString("utf8");

const specification = (name: string, version: string, needed?: string): string =>
  `Gem::Specification.new do |s|
  s.name, s.version, s.summary, s.authors = "${name}", "${version}", "It", ["Anna"]
  s.files = ["lib/it.rb"]
  ${needed === undefined ? "" : `s.add_dependency "${needed}", "~> 1.0"`}
end
`;

describe("a repository of RubyGems", () => {
  const base = baseOf("gems");
  const key = { authorization: anna.token };

  before(async () => {
    const settings = { packageReuploadType: "NONE", isDeletePackageAllowed: true };
    const one = await at.local("gems", "rubygem", settings);
    const two = await at.local("gems-two", "rubygem");
    await at.virtual("gems-all", "rubygem", {
      includedRepositoryUuids: [two.repositoryUuid, one.repositoryUuid],
    });
  });

  type Options = Readonly<{ platform?: string; more?: readonly ArchiveFile[]; sum?: string }>;

  /** As `gem build` makes it. */
  function gem(name: string, version: string, { platform = "ruby", more = [], sum }: Options = {}) {
    const specification = `--- !ruby/object:Gem::Specification
name: ${name}
version: !ruby/object:Gem::Version
  version: ${version}
platform: ${platform}
authors:
- Anna
date: 2026-01-02 00:00:00.000000000 Z
specification_version: 4
dependencies:
- !ruby/object:Gem::Dependency
  name: rack
  requirement: &1 !ruby/object:Gem::Requirement
    requirements:
    - - "~>"
      - !ruby/object:Gem::Version
        version: '2.10'
    - - "<"
      - !ruby/object:Gem::Version
        version: '4'
  type: :runtime
  prerelease: false
  version_requirements: *1
description: Pads
email:
required_ruby_version: !ruby/object:Gem::Requirement
  requirements:
  - - ">="
    - !ruby/object:Gem::Version
      version: 2.7.0
summary: Pads texts
`;
    const metadata = gzipSync(specification);
    const data = tgz([["lib/pad.rb", "1"]]);
    const sums = `---\nSHA256:\n  metadata.gz: ${digestOf("sha256", metadata)}\n  data.tar.gz: ${sum ?? digestOf("sha256", data)}\n`;
    return tar([
      ["metadata.gz", metadata],
      ["data.tar.gz", data],
      ["checksums.yaml.gz", gzipSync(sums)],
      ...more,
    ]);
  }
  const push = (content: Buffer, to = base, headers = key) =>
    send("POST", `${to}/api/v1/gems`, content, headers);

  it("shows gems in the compact index, with digests that agree", async () => {
    expect((await get(`${base}/`)).status).to.equal(200);
    const content = gem("pad", "1.10.0");
    const pushed = await push(content);
    expect([pushed.status, await pushed.text()]).to.deep.equal([
      200,
      "Successfully registered gem: pad (1.10.0)\n",
    ]);
    await push(gem("pad", "1.9.0.rc1"));
    await push(gem("pad", "1.10.0", { platform: "x86_64-linux" }));
    const info = await get(`${base}/info/pad`);
    const body = await info.text();
    const needs = "rack:~> 2.10&< 4|checksum:";
    expect(body.split("\n").slice(0, 2)).to.deep.equal([
      "---",
      `1.10.0 ${needs}${digestOf("sha256", content)},ruby:>= 2.7.0`,
    ]);
    expect(body).to.contain(`\n1.10.0-x86_64-linux ${needs}`);
    expect(info.headers.get("etag")).to.equal(`"${digestOf("md5", body)}"`);
    const sum = createHash("sha256").update(body).digest("base64");
    expect(info.headers.get("repr-digest")).to.equal(`sha-256=:${sum}:`);
    const versions = await textOf(`${base}/versions`);
    const line = `pad 1.10.0,1.9.0.rc1,1.10.0-x86_64-linux ${digestOf("md5", body)}\n`;
    expect(versions.split("---\n")[1]).to.equal(line);
    expect(await textOf(`${base}/names`)).to.equal("---\npad\n");
    expect(await bytes(`${base}/gems/pad-1.10.0.gem`)).to.deep.equal(content);
    const tag = info.headers.get("etag") ?? "";
    expect((await get(`${base}/info/pad`, { "if-none-match": tag })).status).to.equal(304);
  });

  it("merges members and yanks a version", async () => {
    await push(gem("other", "1.0"), baseOf("gems-two"));
    expect(await textOf(`${baseOf("gems-all")}/names`)).to.equal("---\nother\npad\n");
    await push(gem("gone", "1.0"));
    const form = new URLSearchParams({ gem_name: "gone", version: "1.0" }).toString();
    const yanked = await send("DELETE", `${base}/api/v1/gems/yank`, form, key);
    expect(yanked.status, await yanked.text()).to.equal(200);
    expect((await get(`${base}/info/gone`)).status).to.equal(404);
    expect(await textOf(`${base}/versions`)).to.not.contain("gone");
    const other = new URLSearchParams({ gem_name: "other", version: "1.0" }).toString();
    const kept = await send("DELETE", `${baseOf("gems-two")}/api/v1/gems/yank`, other, key);
    expect([kept.status, await kept.text()]).to.deep.equal([
      405,
      "Packages of this repository may not be deleted.\n",
    ]);
    expect((await get(`${baseOf("gems-two")}/info/other`)).status).to.equal(200);
    expect((await get(`${base}/gems/gone-1.0.gem`)).status).to.equal(200);
    const none = new URLSearchParams({ gem_name: "gone", version: "2.0" }).toString();
    expect((await send("DELETE", `${base}/api/v1/gems/yank`, none, key)).status).to.equal(404);
    const signedIn = await get(`${base}/api/v1/api_key`);
    expect(await signedIn.text()).to.equal(anna.token);
  });

  it("refuses what is no gem, is not what it says, or has the full name of another", async () => {
    await push(gem("pad-1", "2"));
    await push(gem("twin-1-java", "2"));
    const head = await app.head();
    const cases: readonly (readonly [string, Buffer, number])[] = [
      ["nothing", Buffer.from("no gem"), 422],
      ["compressed", gzipSync(gem("bad", "1")), 422],
      ["another digest", gem("bad", "1", { sum: "0".repeat(64) }), 422],
      ["a folder", gem("bad", "1", { more: [["a/b", "x"]] }), 422],
      ["leads out", gem("bad", "1", { more: [["../b", "x"]] }), 422],
      ["two specifications", gem("bad", "1", { more: [["metadata.gz", "x"]] }), 422],
      ["no data", tar([["metadata.gz", gzipSync("name: bad")]]), 422],
      ["a bad name", gem("1", "1"), 422],
      ["a bad version", gem("bad", "one"), 422],
      ["a bad platform", gem("bad", "1", { platform: "../x" }), 422],
      ["other content", gem("pad", "1.10.0", { more: [["a.sig", "x"]] }), 409],
      ["the full name of another", gem("twin", "1", { platform: "java-2" }), 409],
    ];
    for (const [name, content, status] of cases) {
      const answer = await push(content);
      expect(answer.status, `${name}: ${await answer.text()}`).to.equal(status);
    }
    expect((await push(gem("bad", "1"), base, { authorization: "no token" })).status).to.equal(401);
    expect([await app.head(), await held()]).to.deep.equal([head, 0]);
  });

  it("gives the marshalled specification and the old indexes", async () => {
    const packed = await bytes(`${base}/quick/Marshal.4.8/pad-1.10.0.gemspec.rz`);
    const dumped = inflateSync(packed);
    expect(dumped.subarray(0, 4)).to.deep.equal(Buffer.from([4, 8, 0x75, 0x3a]));
    expect(dumped.toString("latin1")).to.contain("Gem::Requirement").and.contain("Pads texts");
    for (const name of ["specs", "latest_specs", "prerelease_specs"]) {
      const index = gunzipSync(await bytes(`${base}/${name}.4.8.gz`)).toString("latin1");
      expect(index.includes("1.9.0.rc1"), name).to.equal(name === "prerelease_specs");
    }
  });

  describe("and gem", () => {
    needsProgram("gem", "ruby");

    it("builds, pushes, finds, installs and yanks", async () => {
      const cwd = await temporaryDirectory();
      const env: NodeJS.ProcessEnv = {
        ...process.env,
        HOME: cwd,
        GEM_HOME: path.join(cwd, "home"),
        GEM_SPEC_CACHE: path.join(cwd, "cache"),
        GEM_HOST_API_KEY: anna.token,
        RUBYGEMS_HOST: base,
      };
      const program = (...args: string[]) => run("gem", args, { cwd, env });
      await mkdir(path.join(cwd, "lib"));
      await writeFile(path.join(cwd, "lib", "real.rb"), "REAL = 1\n");
      const specification = `Gem::Specification.new do |s|
  s.name = "real"
  s.version = "1.2.0"
  s.summary = "Real"
  s.description = "Really"
  s.authors = ["Anna"]
  s.homepage = "https://example.org"
  s.license = "MIT"
  s.files = ["lib/real.rb"]
  s.required_ruby_version = ">= 2.5"
end
`;
      await writeFile(path.join(cwd, "real.gemspec"), specification);
      await program("build", "real.gemspec");
      await program("push", "real-1.2.0.gem", "--host", base);
      const source = `${base.replace("//", `//anna:${anna.token}@`)}/`;
      const only = ["--clear-sources", "--source", source];
      const listed = await program("list", "--remote", "--clear-sources", "--source", source);
      expect(listed.stdout).to.contain("real (1.2.0)");
      await program("install", "real", "--no-document", ...only);
      expect(await readdir(path.join(cwd, "home", "gems"))).to.deep.equal(["real-1.2.0"]);
      const shown = await program("specification", "--remote", "real", "homepage", ...only);
      expect(shown.stdout).to.contain("https://example.org");
      const again = await program("push", "real-1.2.0.gem", "--host", base).catch(
        ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
      );
      expect(again).to.match(/already exists/);
      await program("yank", "real", "-v", "1.2.0", "--host", base);
      expect((await get(`${base}/info/real`)).status).to.equal(404);
    }).timeout(240_000);
  });

  describe("and bundler", () => {
    needsProgram("bundle", "gem", "ruby");

    it("installs gems with what they need, and finds newer ones in what it has kept", async () => {
      const cwd = await temporaryDirectory();
      const file = (name: string) => path.join(cwd, name);
      const inHome = { HOME: cwd, GEM_HOME: file("home"), BUNDLE_USER_HOME: file("bundler") };
      const env: NodeJS.ProcessEnv = { ...process.env, ...inHome, BUNDLE_PATH: file("vendor") };
      await mkdir(file("lib"));
      await writeFile(file("lib/it.rb"), "IT = 1\n");
      const push = async (name: string, version: string, needed?: string) => {
        await writeFile(file("it.gemspec"), specification(name, version, needed));
        await run("gem", ["build", "it.gemspec"], { cwd, env });
        const body = await readFile(file(`${name}-${version}.gem`));
        const headers = { authorization: anna.token };
        const stored = await send("POST", `${base}/api/v1/gems`, body, headers);
        expect(stored.status).to.equal(200);
      };
      await push("needed", "1.0.1");
      await push("top", "1.0.0", "needed");
      await mkdir(file("app"));
      await writeFile(
        file("app/Gemfile"),
        `source "${base.replace("//", `//anna:${anna.token}@`)}"\ngem "top"\n`,
      );
      const bundle = (...args: string[]) => run("bundle", args, { cwd: file("app"), env });
      const locked = async () =>
        (await readFile(file("app/Gemfile.lock"), "utf8")).match(/^ {4}\S+ \([^)]*\)/gm);
      await bundle("install");
      expect(await locked()).to.deep.equal(["    needed (1.0.1)", "    top (1.0.0)"]);
      await push("top", "1.1.0", "needed");
      await bundle("update");
      expect(await locked()).to.deep.equal(["    needed (1.0.1)", "    top (1.1.0)"]);
    }).timeout(240_000);
  });
});

describe("a repository of R packages", () => {
  const base = baseOf("cran");
  const description = (name: string, version: string, more = "") =>
    `Package: ${name}\nVersion: ${version}\nTitle: Pads\nDepends: R (>= 4.0),\n    methods\nLicense: MIT + file LICENSE\nNeedsCompilation: no\n${more}`;
  const source = (name: string, version: string, more: readonly ArchiveFile[] = []) =>
    tgz([
      [`${name}/DESCRIPTION`, description(name, version)],
      [`${name}/R/pad.R`, "pad <- 1"],
      ...more,
    ]);
  const put = (at: string, content: Buffer) => send("PUT", `${base}/${at}`, content);

  before(() =>
    at.local("cran", "cran", { packageReuploadType: "NONE", isDeletePackageAllowed: true }),
  );

  it("lists the newest version of each package, and keeps the others in the archive", async () => {
    for (const version of ["1.9", "1.10-1", "1.2.3"]) {
      const answer = await put(`src/contrib/pad_${version}.tar.gz`, source("pad", version));
      expect(answer.status, await answer.text()).to.equal(201);
    }
    const newest = source("pad", "1.10-1");
    const list = await textOf(`${base}/src/contrib/PACKAGES`);
    expect(list).to.equal(
      `Package: pad\nVersion: 1.10-1\nDepends: R (>= 4.0), methods\nLicense: MIT + file LICENSE\nNeedsCompilation: no\nMD5sum: ${digestOf("md5", newest)}\nFile: pad_1.10-1.tar.gz\n`,
    );
    expect(gunzipSync(await bytes(`${base}/src/contrib/PACKAGES.gz`)).toString()).to.equal(list);
    expect((await get(`${base}/src/contrib/PACKAGES.rds`)).status).to.equal(404);
    expect(await bytes(`${base}/src/contrib/pad_1.10-1.tar.gz`)).to.deep.equal(newest);
    const old = await bytes(`${base}/src/contrib/Archive/pad/pad_1.9.tar.gz`);
    expect(old).to.deep.equal(source("pad", "1.9"));
  });

  it("keeps what was built by system and version of R", async () => {
    const built = (r: string) =>
      zip([
        ["pad/DESCRIPTION", description("pad", "1.9", `Built: R ${r}; ; 2026-01-02; windows\n`)],
      ]);
    const at = "bin/windows/contrib/4.3";
    expect((await put(`${at}/pad_1.9.zip`, built("4.3.1"))).status).to.equal(201);
    expect((await put(`${at}/pad_1.9.zip`, built("4.2.0"))).status).to.equal(422);
    expect(await textOf(`${base}/${at}/PACKAGES`))
      .to.contain("Version: 1.9\n")
      .and.contain("Built:");
    expect(await textOf(`${base}/bin/windows/contrib/4.2/PACKAGES`)).to.equal("");
  });

  describe("with R", () => {
    needsProgram("R");

    it("is where install.packages finds a package that R built", async () => {
      const cwd = await temporaryDirectory();
      await mkdir(path.join(cwd, "real", "R"), { recursive: true });
      const people = "Author: Anna\nMaintainer: Anna <anna@example.org>\nDescription: Pads.\n";
      const files = {
        DESCRIPTION: description("real", "1.0", people).replace(" + file LICENSE", ""),
        NAMESPACE: "export(one)\n",
        "R/one.R": "one <- function() 41 + 1\n",
      };
      for (const [name, content] of Object.entries(files))
        await writeFile(path.join(cwd, "real", name), content);
      await run("R", ["CMD", "build", "real"], { cwd });
      const [built = ""] = (await readdir(cwd)).filter((name) => name.endsWith(".tar.gz"));
      const stored = await put(`src/contrib/${built}`, await readFile(path.join(cwd, built)));
      expect(stored.status, await stored.text()).to.equal(201);
      const repos = base.replace("//", `//anna:${anna.token}@`);
      const lines = [
        `install.packages("real", lib = ".", repos = "${repos}")`,
        'cat(library(real, lib.loc = ".")[1], one())',
      ];
      const { stdout } = await run(
        "Rscript",
        lines.flatMap((line) => ["-e", line]),
        { cwd },
      );
      expect(stdout).to.contain("real 42");
    }).timeout(240_000);
  });

  it("refuses what is not what its path says, and deletes a version", async () => {
    const head = await app.head();
    const at = "src/contrib/pad_2.0.tar.gz";
    const cases: readonly (readonly [string, string, Buffer, number])[] = [
      ["nothing", at, Buffer.from("no archive"), 422],
      ["another version", at, source("pad", "2.1"), 422],
      ["another name", at, source("dap", "2.0"), 422],
      ["two folders", at, source("pad", "2.0", [["dap/DESCRIPTION", "x"]]), 422],
      ["leads out", at, source("pad", "2.0", [["pad/../../x", "x"]]), 422],
      ["links", at, tgz([["pad/DESCRIPTION", ""]], "2"), 422],
      ["a bad ending", "src/contrib/pad_2.0.zip", source("pad", "2.0"), 422],
      ["a bad version", "src/contrib/pad_2.tar.gz", source("pad", "2"), 422],
      [
        "a field twice",
        at,
        tgz([["pad/DESCRIPTION", description("pad", "2.0", "Title: x\n")]]),
        422,
      ],
      ["other content", "src/contrib/pad_1.9.tar.gz", source("pad", "1.9", [["pad/x", "x"]]), 409],
    ];
    for (const [name, path, content, status] of cases) {
      const answer = await put(path, content);
      expect(answer.status, `${name}: ${await answer.text()}`).to.equal(status);
    }
    expect([await app.head(), await held()]).to.deep.equal([head, 0]);
    const url = `${base}/src/contrib/pad_1.10-1.tar.gz`;
    expect((await fetch(url, { method: "DELETE", headers: { authorization } })).status).to.equal(
      204,
    );
    expect(await textOf(`${base}/src/contrib/PACKAGES`)).to.contain("Version: 1.9\n");
  });
});
