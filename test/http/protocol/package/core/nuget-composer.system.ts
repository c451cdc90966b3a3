import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { basicAuth } from "../../../../support/app/basic-auth.ts";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { composerZip, nupkg, zip } from "../../../../support/git/archive.ts";
import { temporaryDirectory } from "../../../../support/git/git.ts";
import { needsProgram } from "../../../../support/process/program.ts";

type Json = Readonly<Record<string, unknown>>;

const { app, anna, at, baseOf } = await startRegistryApp();
const bob = await app.givenUser("bob");
const authorization = basicAuth("anna", anna.token);
const get = (url: string, headers: Record<string, string> = {}) =>
  fetch(url, { headers: { authorization, ...headers } });
async function json(url: string): Promise<Json> {
  const answer = await get(url);
  expect(answer.status, url).to.equal(200);
  return (await answer.json()) as Json;
}
const held = async () => Number((await app.deps.db("public.blob_hold").count())[0]!["count"]);

describe("a repository of NuGet", () => {
  const base = baseOf("nu");
  const key = { "x-nuget-apikey": anna.token };

  before(async () => {
    const one = await at.local("nu", "nuget", { packageReuploadType: "NONE" });
    const two = await at.local("nu-two", "nuget");
    await at.virtual("nu-all", "nuget", {
      includedRepositoryUuids: [two.repositoryUuid, one.repositoryUuid],
    });
  });

  /** As `dotnet nuget push` sends it: a form whose only part has a name of its own. */
  function push(content: Buffer, to = base, headers: Record<string, string> = key) {
    const form = new FormData();
    form.append("package", new Blob([new Uint8Array(content)]), "package.nupkg");
    return fetch(`${to}/package/`, { method: "PUT", headers, body: form });
  }
  const dependencies =
    '<authors>Anna, Bob</authors><description>Pads &lt;text&gt;</description><tags>pad text</tags><dependencies><group targetFramework="net8.0"><dependency id="Json.Net" version="[13.0.1, )" /></group></dependencies>';

  it("names its resources below its own address", async () => {
    expect((await fetch(`${base}/index.json`)).status).to.equal(401);
    const { version, resources } = await json(`${base}/index.json`);
    expect(version).to.equal("3.0.0");
    const all = resources as readonly Readonly<{ "@id": string; "@type": string }>[];
    expect(all.every((each) => each["@id"].startsWith(`${base}/`))).to.equal(true);
    expect(all.map((each) => each["@type"])).to.include.members([
      "PackageBaseAddress/3.0.0",
      "RegistrationsBaseUrl/3.6.0",
      "SearchQueryService/3.5.0",
      "PackagePublish/2.0.0",
    ]);
  });

  it("takes a pushed package and shows it in all of its resources", async () => {
    const content = nupkg("Acme.Pad", "1.02.0.0", dependencies);
    expect((await push(content)).status).to.equal(201);
    expect((await push(nupkg("acme.pad", "1.10.0-rc.1"))).status).to.equal(201);
    expect((await push(nupkg("acme.pad", "1.9.0-BETA"))).status).to.equal(201);
    const versions = ["1.2.0", "1.9.0-beta", "1.10.0-rc.1"];
    expect(await json(`${base}/flat/acme.pad/index.json`)).to.deep.equal({ versions });
    const file = await get(`${base}/flat/acme.pad/1.2.0/acme.pad.1.2.0.nupkg`);
    expect(Buffer.from(await file.arrayBuffer())).to.deep.equal(content);
    const nuspec = await get(`${base}/flat/acme.pad/1.2.0/acme.pad.nuspec`);
    expect(await nuspec.text()).to.contain("<id>Acme.Pad</id>");
    const answer = await get(`${base}/registration-semver2/acme.pad/index.json`);
    expect(answer.headers.get("content-encoding")).to.equal("gzip");
    const index = (await answer.json()) as { items: { items: { catalogEntry: Json }[] }[] };
    const entries = index.items[0]?.items.map(({ catalogEntry }) => catalogEntry) ?? [];
    expect(entries.map(({ version }) => version)).to.deep.equal([
      "1.2.0",
      "1.9.0-BETA",
      "1.10.0-rc.1",
    ]);
    expect(entries[0]).to.deep.include({
      id: "Acme.Pad",
      description: "Pads <text>",
      listed: true,
      tags: ["pad", "text"],
    });
    const groups = entries[0]?.["dependencyGroups"];
    const [group] = (groups ?? []) as { dependencies: Json[] }[];
    expect(group?.dependencies[0]).to.deep.include({ id: "Json.Net", range: "[13.0.1, )" });
    const old = await json(`${base}/registration/acme.pad/index.json`);
    expect((old["items"] as Json[])[0]?.["count"], "without SemVer 2").to.equal(2);
    const leaf = await json(`${base}/registration-semver2/acme.pad/1.2.0.json`);
    expect(leaf["packageContent"]).to.equal(`${base}/flat/acme.pad/1.2.0/acme.pad.1.2.0.nupkg`);
    const again = await get(`${base}/flat/acme.pad/index.json`, {
      "if-none-match": (await get(`${base}/flat/acme.pad/index.json`)).headers.get("etag") ?? "",
    });
    expect(again.status).to.equal(304);
  });

  it("finds packages and hides what is unlisted", async () => {
    const found = async (query: string) =>
      (await json(`${base}/query?${query}`)) as { totalHits: number; data: Json[] };
    const stable = await found("q=PAD");
    expect(stable.data.map(({ id, version }) => [id, version])).to.deep.equal([
      ["Acme.Pad", "1.2.0"],
    ]);
    const all = await found("q=&prerelease=true&semVerLevel=2.0.0");
    expect(all.data[0]).to.include({ version: "1.10.0-rc.1" });
    expect((await found("q=none")).totalHits).to.equal(0);
    expect(await json(`${base}/autocomplete?q=acm`)).to.deep.include({ data: ["Acme.Pad"] });
    const one = `${base}/package/Acme.Pad/1.2.0.0`;
    expect((await fetch(one, { method: "DELETE", headers: key })).status).to.equal(204);
    expect((await found("q=pad")).data).to.deep.equal([]);
    const leaf = await json(`${base}/registration/acme.pad/1.2.0.json`);
    expect(leaf).to.include({ listed: false });
    expect((await get(`${base}/flat/acme.pad/1.2.0/acme.pad.1.2.0.nupkg`)).status).to.equal(200);
    expect((await fetch(one, { method: "POST", headers: key })).status).to.equal(200);
    expect((await found("q=pad")).data).to.have.length(1);
  });

  it("refuses an existing version, a file that is no package, and a user without the right", async () => {
    const head = await app.head();
    expect((await push(nupkg("Acme.Pad", "1.2"))).status, "other content").to.equal(409);
    expect((await push(Buffer.from("no zip"))).status).to.equal(422);
    expect((await push(zip([["a.txt", "a"]]))).status).to.equal(422);
    const other = { "x-nuget-apikey": bob.token };
    expect((await push(nupkg("Acme.Pad", "2.0.0"), base, other)).status).to.equal(403);
    expect((await push(nupkg("Acme.Pad", "2.0.0"), base, {})).status).to.equal(401);
    expect((await get(`${base}/flat/none/index.json`)).status).to.equal(404);
    expect((await get(`${base}/flat/acme.pad/1.2.0/other.1.2.0.nupkg`)).status).to.equal(404);
    expect([await app.head(), await held()]).to.deep.equal([head, 0]);
  });

  it("merges its members", async () => {
    const merged = await json(`${baseOf("nu-all")}/flat/acme.pad/index.json`);
    expect(merged["versions"]).to.have.length(3);
  });
});

describe("a repository of Composer", () => {
  const base = baseOf("php");
  const put = (content: Buffer, query = "", headers: Record<string, string> = { authorization }) =>
    fetch(`${base}/${query}`, { method: "PUT", headers, body: new Uint8Array(content) });

  before(() =>
    at.local("php", "composer", { packageReuploadType: "NONE", isDeletePackageAllowed: true }),
  );

  it("shows versions as their composer.json says, without addresses of others", async () => {
    const manifest = {
      name: "acme/pad",
      description: "Pads",
      require: { php: ">=7.4" },
      source: { type: "git", url: "--upload-pack=evil", reference: "x" },
      dist: { url: "https://evil.example.org/a.zip", type: "zip" },
      "notification-url": "https://evil.example.org/",
    };
    expect((await put(composerZip(manifest), "?version=v1.0.0")).status).to.equal(201);
    expect((await put(composerZip({ ...manifest, version: "1.1-RC2" }))).status).to.equal(201);
    expect((await put(composerZip(manifest, "acme-pad-x/"), "?version=dev-main")).status).to.equal(
      201,
    );
    const stable = await json(`${base}/p2/acme/pad.json`);
    const versions = (stable["packages"] as Record<string, Json[]>)["acme/pad"] ?? [];
    expect(versions.map((one) => one["version_normalized"])).to.deep.equal([
      "1.1.0.0-RC2",
      "1.0.0.0",
    ]);
    expect(versions[1]).to.include({ version: "v1.0.0", description: "Pads" });
    expect(versions[1]).to.not.have.any.keys("source", "notification-url");
    const dist = versions[1]?.["dist"] as { url: string; shasum: string };
    expect(dist.url.startsWith(`${base}/`)).to.equal(true);
    expect((await get(dist.url)).headers.get("x-checksum-sha1")).to.equal(dist.shasum);
    const dev = await json(`${base}/p2/acme/pad~dev.json`);
    expect((dev["packages"] as Record<string, Json[]>)["acme/pad"]?.[0]).to.include({
      version_normalized: "dev-main",
    });
    expect(await json(`${base}/list.json`)).to.deep.equal({ packageNames: ["acme/pad"] });
    const { results } = await json(`${base}/search.json?q=PAD`);
    expect((results as Json[])[0]).to.include({ name: "acme/pad", description: "Pads" });
  });

  it("finds packages of a type by words, filtered before they are paged", async () => {
    for (const [name, type] of [
      ["acme/find-a", "library"],
      ["acme/find-b", "symfony-bundle"],
      ["acme/find-c", "symfony-bundle"],
    ]) {
      const about = { name, type, description: "Renders charts", keywords: ["plot"] };
      expect((await put(composerZip(about), "?version=1.0.0")).status).to.equal(201);
    }
    const found = async (query: string) => {
      const { results, total } = await json(`${base}/search.json?${query}`);
      return [(results as Json[]).map(({ name }) => name), total];
    };
    expect(await found("q=plot+find&per_page=1&type=symfony-bundle")).to.deep.equal([
      ["acme/find-b"],
      2,
    ]);
    expect(await found("q=charts&per_page=2&page=2")).to.deep.equal([["acme/find-c"], 3]);
  });

  it("refuses what does not agree, and deletes a version", async () => {
    const manifest = { name: "acme/strict", version: "1.0.0" };
    const head = await app.head();
    for (const [content, query, status] of [
      [composerZip(manifest), "?version=2.0", 422],
      [composerZip({ name: "Acme/Strict" }), "?version=1.0", 422],
      [composerZip({ name: "acme/strict" }), "", 422],
      [Buffer.from("no zip"), "?version=1.0", 422],
    ] as const) {
      expect((await put(content, query)).status, query).to.equal(status);
    }
    expect((await put(composerZip(manifest), "", {})).status).to.equal(401);
    expect([await app.head(), await held()]).to.deep.equal([head, 0]);
    expect((await put(composerZip(manifest))).status).to.equal(201);
    expect((await put(composerZip({ ...manifest, type: "x" }))).status).to.equal(409);
    const url = `${base}/acme/strict/1.0.0`;
    const answer = await fetch(url, { method: "DELETE", headers: { authorization } });
    expect(answer.status).to.equal(204);
    expect((await get(`${base}/p2/acme/strict.json`)).status).to.equal(404);
  });
});

describe("composer", () => {
  needsProgram("composer");

  it("installs a package", async () => {
    const base = baseOf("php");
    const manifest = {
      name: "acme/real",
      version: "1.2.3",
      autoload: { "psr-4": { "A\\": "src/" } },
    };
    const body = new Uint8Array(composerZip(manifest));
    const headers = { authorization };
    await fetch(`${base}/`, { method: "PUT", headers, body });
    const cwd = await temporaryDirectory();
    const host = new URL(app.url).host;
    const project = {
      repositories: [{ type: "composer", url: base }, { packagist: false }],
      require: { "acme/real": "^1.0" },
      config: { "secure-http": false },
    };
    await writeFile(path.join(cwd, "composer.json"), JSON.stringify(project));
    const auth = { "http-basic": { [host]: { username: "anna", password: anna.token } } };
    const env = {
      ...process.env,
      COMPOSER_HOME: path.join(cwd, "home"),
      COMPOSER_ALLOW_SUPERUSER: "1",
      COMPOSER_AUTH: JSON.stringify(auth),
    };
    const args = ["install", "--no-interaction", "--no-plugins"];
    await promisify(execFile)("composer", args, { cwd, env });
    const file = path.join(cwd, "vendor", "acme", "real", "src", "Thing.php");
    expect(await readFile(file, "utf8")).to.equal("<?php");
    const { stderr } = await promisify(execFile)(
      "composer",
      ["update", "--no-interaction", "--no-plugins", "-vvv"],
      { cwd, env },
    );
    expect(stderr).to.match(/^Downloading \S+\/packages\.json$/m);
    expect(stderr).to.match(/^Downloading \S+\/p2\/acme\/real\.json$/m);
    // As it does with a document that has changed, or has no date.
    expect(stderr).not.to.match(/^Writing .* into cache$/m);
  });
});
