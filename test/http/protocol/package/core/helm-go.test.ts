import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { basicAuth } from "../../../../support/app/basic-auth.ts";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { type ArchiveFile, tgz, zip } from "../../../../support/git/archive.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import { needsProgram } from "../../../../support/process/program.ts";

type Json = Readonly<Record<string, unknown>>;

const { app, anna, at, baseOf } = await startRegistryApp();
const authorization = basicAuth("anna", anna.token);
const get = (url: string, headers: Record<string, string> = {}) =>
  fetch(url, { headers: { authorization, ...headers } });
const send = (method: string, url: string, body: Buffer | FormData) =>
  fetch(url, {
    method,
    headers: { authorization },
    body: body instanceof FormData ? body : new Uint8Array(body),
  });
const held = async () => Number((await app.deps.db("public.blob_hold").count())[0]!["count"]);

async function nothingOf(cases: readonly (readonly [string, Promise<Response>])[], status: number) {
  for (const [name, sent] of cases) {
    const answer = await sent;
    expect(answer.status, `${name}: ${await answer.text()}`).to.equal(status);
  }
}

describe("a repository of Helm", () => {
  const base = baseOf("charts");
  const chartYaml = (name: string, version: string, more = "") =>
    `apiVersion: v2\nname: ${name}\nversion: ${version}\ndescription: A chart\nappVersion: 1.10\n${more}`;
  const chart = (name: string, version: string, more: readonly ArchiveFile[] = []) =>
    tgz([
      [`${name}/Chart.yaml`, chartYaml(name, version)],
      [`${name}/templates/NOTES.txt`, "Hello."],
      ...more,
    ]);
  const provenance = (name: string, version: string) =>
    `-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n${chartYaml(name, version)}\n...\nfiles:\n  ${name}-${version}.tgz: sha256:00\n-----BEGIN PGP SIGNATURE-----\n\nxx\n-----END PGP SIGNATURE-----\n`;
  const index = async (of = base) =>
    (await (await get(`${of}/index.yaml`)).json()) as { entries: Record<string, Json[]> };

  before(async () => {
    const one = await at.local("charts", "helm", {
      packageReuploadType: "NONE",
      isDeletePackageAllowed: true,
    });
    const two = await at.local("charts-two", "helm");
    await at.virtual("charts-all", "helm", {
      includedRepositoryUuids: [two.repositoryUuid, one.repositoryUuid],
    });
  });

  it("takes charts in every way and shows them in its index, newest first", async () => {
    expect(await index()).to.deep.include({ entries: {} });
    const content = chart("pad", "1.9.0");
    expect((await send("POST", `${base}/api/charts`, content)).status).to.equal(201);
    const form = new FormData();
    form.append("chart", new Blob([new Uint8Array(chart("pad", "1.10.0+b.1"))]), "pad.tgz");
    form.append("prov", new Blob([provenance("pad", "1.10.0+b.1")]), "pad.tgz.prov");
    expect((await send("POST", `${base}/api/charts`, form)).status).to.equal(201);
    const put = await send("PUT", `${base}/pad-1.10.0-rc.1.tgz`, chart("pad", "1.10.0-rc.1"));
    expect(put.status, await put.text()).to.equal(201);
    const versions = (await index()).entries["pad"] ?? [];
    expect(versions.map(({ version }) => version)).to.deep.equal([
      "1.10.0+b.1",
      "1.10.0-rc.1",
      "1.9.0",
    ]);
    expect(versions[2]).to.include({ apiVersion: "v2", description: "A chart", appVersion: "1.1" });
    const [url = ""] = (versions[2]?.["urls"] ?? []) as string[];
    const file = await get(new URL(url, `${base}/index.yaml`).href);
    expect(Buffer.from(await file.arrayBuffer())).to.deep.equal(content);
    expect(file.headers.get("x-checksum-sha256")).to.equal(versions[2]?.["digest"]);
    const [signed = ""] = (versions[0]?.["urls"] ?? []) as string[];
    const prov = await get(`${new URL(signed, `${base}/index.yaml`).href}.prov`);
    expect(await prov.text()).to.equal(provenance("pad", "1.10.0+b.1"));
    const one = (await (await get(`${base}/api/charts/pad/1.9.0`)).json()) as Json;
    expect(one).to.deep.equal(versions[2]);
  });

  it("merges the charts of members and revalidates the index", async () => {
    await send(
      "POST",
      `${baseOf("charts-two")}/api/charts`,
      chart("pad", "1.9.0", [["pad/a", "a"]]),
    );
    const { entries } = await index(baseOf("charts-all"));
    expect(entries["pad"]).to.have.length(3);
    const own = (await index(baseOf("charts-two"))).entries["pad"]?.[0];
    expect(entries["pad"]?.[2], "the first member's").to.deep.equal(own);
    const tag = (await get(`${base}/index.yaml`)).headers.get("etag") ?? "";
    const again = await get(`${base}/index.yaml`, { "if-none-match": tag });
    expect(again.status).to.equal(304);
  });

  it("refuses charts that are not what they say, unpack elsewhere or are there already", async () => {
    const head = await app.head();
    const post = (content: Buffer) => send("POST", `${base}/api/charts`, content);
    await nothingOf(
      [
        ["no archive", post(Buffer.from("no archive"))],
        ["no Chart.yaml", post(tgz([["pad/values.yaml", "a: 1"]]))],
        ["two folders", post(chart("pad", "2.0.0", [["other/Chart.yaml", "a: 1"]]))],
        ["leads out", post(chart("pad", "2.0.0", [["pad/../../a", "a"]]))],
        ["absolute", post(chart("pad", "2.0.0", [["/etc/a", "a"]]))],
        ["backslash", post(chart("pad", "2.0.0", [["pad\\..\\a", "a"]]))],
        [
          "twice",
          post(
            chart("pad", "2.0.0", [
              ["pad/A", "a"],
              ["pad/a", "a"],
            ]),
          ),
        ],
        ["links", post(tgz([["pad/Chart.yaml", ""]], "2"))],
        ["a large file", post(chart("pad", "2.0.0", [["pad/a", Buffer.alloc(6 * 1024 ** 2)]]))],
        ["another folder", post(tgz([["x/Chart.yaml", chartYaml("pad", "2.0.0")]]))],
        ["a bad name", post(chart("Pad", "2.0.0"))],
        ["a bad version", post(chart("pad", "2"))],
        ["aliases", post(tgz([["pad/Chart.yaml", bomb]]))],
        ["another name", send("PUT", `${base}/pad-3.0.0.tgz`, chart("pad", "2.0.0"))],
        ["no provenance", send("POST", `${base}/api/prov`, Buffer.from("x"))],
      ],
      422,
    );
    await nothingOf([["other content", post(chart("pad", "1.9.0", [["pad/b", "b"]]))]], 409);
    expect([await app.head(), await held()]).to.deep.equal([head, 0]);
    const remove = () =>
      fetch(`${base}/api/charts/pad/1.9.0`, { method: "DELETE", headers: { authorization } });
    expect(await (await remove()).json()).to.deep.equal({ deleted: true });
    expect((await index()).entries["pad"]).to.have.length(2);
  });

  const bomb = `apiVersion: &a v2\nname: pad\nversion: 1.0.0\nkeywords: &b [${"*a,".repeat(200)}]\n`;

  describe("and helm", () => {
    needsProgram("helm");

    it("finds and pulls a chart", async () => {
      const cwd = await temporaryDirectory();
      const env = { ...process.env, HOME: cwd, HELM_CACHE_HOME: cwd, HELM_CONFIG_HOME: cwd };
      const helm = (...args: string[]) => promisify(execFile)("helm", args, { cwd, env });
      await send("POST", `${base}/api/charts`, chart("real", "0.1.0"));
      const login = ["--username", "anna", "--password", anna.token];
      await helm("repo", "add", "forge", base, ...login);
      await helm("repo", "update");
      const { stdout } = await helm("search", "repo", "real", "-o", "json");
      expect((JSON.parse(stdout) as Json[])[0]).to.include({ name: "forge/real" });
      await helm("pull", "forge/real", "--untar");
      const { stdout: shown } = await helm("show", "chart", "./real");
      expect(shown).to.contain("name: real");
    }).timeout(240_000);
  });
});

describe("a repository of Go modules", () => {
  const base = baseOf("mods");
  const name = "example.org/Team/pad";
  const escaped = "example.org/!team/pad";
  const module = (version: string, more: readonly ArchiveFile[] = [], of = name) =>
    zip([
      [`${of}@${version}/go.mod`, `module ${of}\n\ngo 1.20\n`],
      [`${of}@${version}/pad.go`, "package pad\n\nfunc One() int { return 1 }\n"],
      ...more,
    ]);
  const put = (content: Buffer) => send("PUT", `${base}/upload`, content);
  const text = async (path: string) => {
    const answer = await get(`${base}/${path}`);
    return [answer.status, await answer.text()] as const;
  };

  before(() => at.local("mods", "go", { hasAnonymousAccess: true, isDeletePackageAllowed: true }));

  it("answers the protocol of module proxies", async () => {
    const content = module("v1.2.0");
    expect((await put(content)).status).to.equal(201);
    for (const version of ["v1.10.0", "v1.11.0-rc.1", "v0.0.0-20260101000000-abcdefabcdef"]) {
      expect((await put(module(version))).status, version).to.equal(201);
    }
    expect(await text(`${escaped}/@v/list`)).to.deep.equal([
      200,
      "v1.2.0\nv1.10.0\nv1.11.0-rc.1\n",
    ]);
    const [, latest] = await text(`${escaped}/@latest`);
    expect(JSON.parse(latest)).to.include({ Version: "v1.10.0" });
    const [, info] = await text("example.org/%21team/pad/@v/v1.2.0.info");
    expect(Object.keys(JSON.parse(info) as Json)).to.deep.equal(["Version", "Time"]);
    expect(await text(`${escaped}/@v/v1.2.0.mod`)).to.deep.equal([
      200,
      `module ${name}\n\ngo 1.20\n`,
    ]);
    const file = await get(`${base}/${escaped}/@v/v1.2.0.zip`);
    expect(Buffer.from(await file.arrayBuffer())).to.deep.equal(content);
    const pseudo = "v0.0.0-20260101000000-abcdefabcdef";
    for (const commit of ["abcdefa", "abcdefabcdef", `abcdefabcdef${"0".repeat(28)}`]) {
      const [, found] = await text(`${escaped}/@v/${commit}.info`);
      expect(JSON.parse(found), commit).to.include({ Version: pseudo });
    }
    const nothing = [
      `${escaped}/@v/abcdef.info`,
      `${escaped}/@v/bcdefab.info`,
      `${escaped}/@v/abcdefa.mod`,
      `${name}/@v/list`,
      "example.org/@v/list",
      `${escaped}/@v/main.info`,
      `${escaped}/@v/v9.0.0.info`,
      `${escaped}/@v/v1.2.0-RC.info`,
      "sumdb/sum.golang.org/supported",
    ];
    for (const path of nothing) expect((await text(path))[0], path).to.equal(404);
  });

  it("takes modules without go.mod, and later majors by their path or as incompatible", async () => {
    const old = zip([["example.org/old@v2.0.0+incompatible/a.go", "package old\n"]]);
    expect((await put(old)).status).to.equal(201);
    expect(await text("example.org/old/@v/v2.0.0+incompatible.mod")).to.deep.equal([
      200,
      "module example.org/old\n",
    ]);
    const [, queried] = await text("example.org/old/@v/v2.0.0.info");
    expect(JSON.parse(queried)).to.include({ Version: "v2.0.0+incompatible" });
    expect((await put(module("v3.0.0", [], "example.org/old/v3"))).status).to.equal(201);
  });

  it("refuses what x/mod/zip refuses, and other content for ever", async () => {
    const head = await app.head();
    const v = "v5.0.0";
    const ok = "v1.5.0";
    const file = (path: string, content = "a"): ArchiveFile => [`${name}@${ok}/${path}`, content];
    await nothingOf(
      [
        ["no zip", put(Buffer.from("no zip"))],
        ["the wrong major", put(module(v))],
        ["no canonical version", put(module("v1.2"))],
        ["no dot in the domain", put(module("v1.0.0", [], "example/pad"))],
        ["v1 in the path", put(module("v1.0.0", [], "example.org/pad/v1"))],
        ["another module", put(zip([file("go.mod", "module example.org/other\n")]))],
        ["no module", put(zip([file("go.mod", "go 1.20\n")]))],
        ["outside", put(module(ok, [["other@v1.0.0/a", "a"]]))],
        ["leads out", put(module(ok, [file("../a")]))],
        ["equal but for case", put(module(ok, [file("A"), file("a")]))],
        ["a second go.mod", put(module(ok, [file("sub/go.mod")]))],
        ["GO.MOD", put(zip([file("GO.MOD")]))],
        ["a device", put(module(ok, [file("aux.go")]))],
        ["a colon", put(module(ok, [file("a:b")]))],
        ["a folder", put(module(ok, [file("sub/")]))],
        ["another local header", put(otherHeader(module(ok)))],
      ],
      422,
    );
    await nothingOf([["other content", put(module("v1.2.0", [[`${name}@v1.2.0/x`, "x"]]))]], 409);
    expect([await app.head(), await held()]).to.deep.equal([head, 0]);
    const url = `${base}/${escaped}/@v/v1.10.0`;
    const removed = await fetch(url, { method: "DELETE", headers: { authorization } });
    expect(removed.status).to.equal(204);
    expect(JSON.parse((await text(`${escaped}/@latest`))[1])).to.include({ Version: "v1.2.0" });
  });

  /** The name before the first file is another one than in the list of files. */
  function otherHeader(archive: Buffer): Buffer {
    const changed = Buffer.from(archive);
    changed.write("X", 30);
    return changed;
  }

  describe("and go", () => {
    needsProgram("go");

    it("gets a module and builds with it", async () => {
      const cwd = await temporaryDirectory();
      const of = "example.org/real";
      await put(module("v1.0.0", [], of));
      await mkdir(path.join(cwd, "home"));
      const env = {
        ...process.env,
        HOME: path.join(cwd, "home"),
        GOPATH: path.join(cwd, "home", "go"),
        GOCACHE: path.join(cwd, "home", "cache"),
        GOFLAGS: "-mod=mod -modcacherw",
        GOPROXY: base,
        GONOSUMDB: "*",
        GOSUMDB: "off",
        GOTOOLCHAIN: "local",
      };
      await writeFile(path.join(cwd, "go.mod"), "module example.org/user\n\ngo 1.18\n");
      const main = 'package user\n\nimport "example.org/real"\n\nvar Two = pad.One() + 1\n';
      await writeFile(path.join(cwd, "user.go"), main);
      const go = (...args: string[]) => promisify(execFile)("go", args, { cwd, env });
      await go("get", `${of}@latest`);
      expect((await go("list", "-deps", "./...")).stdout).to.contain(of);
      const { stdout } = await go("list", "-m", "-versions", of);
      expect(stdout.trim()).to.equal(`${of} v1.0.0`);
      await put(zip([["example.org/plain@v4.0.0+incompatible/a.go", "package plain\n"]]));
      await go("get", "example.org/plain@v4.0.0");
      expect(await readFile(path.join(cwd, "go.mod"), "utf8")).to.contain("v4.0.0+incompatible");
    }).timeout(240_000);
  });
});
