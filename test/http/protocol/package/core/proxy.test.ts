import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect } from "chai";

import {
  type RepositoryView,
  repositoriesAt,
  startRegistryApp,
} from "../../../../support/client/registry.ts";
import { startUpstream } from "../../../../support/client/upstream.ts";

const stranger = await startUpstream();
const upstream = await startUpstream();
const { app, anna, at } = await startRegistryApp({ reachesLoopback: true });
const base = "/registry/project/anna/forge/repository";
const authorization = `Bearer ${anna.token}`;
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(path.startsWith("http") ? path : app.url + path, {
    headers: { authorization, ...headers },
  });
const put = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
  fetch(app.url + path, {
    method: "PUT",
    headers: { authorization, ...headers },
    body,
  } as RequestInit);

const sha512 = (content: string | Buffer) =>
  `sha512-${createHash("sha512").update(content).digest("base64")}`;
const large = Buffer.alloc(600_000, "large");

/** What the upstream says of a package whose one version has this content. */
function packument(name: string, content: string | Buffer, more: object = {}) {
  const file = `${upstream.url}/${name}/-/${name}-1.0.0.tgz`;
  const dist = { tarball: file, integrity: sha512(content), ...more };
  const versions = { "1.0.0": { name, version: "1.0.0", dist } };
  return JSON.stringify({ name, "dist-tags": { latest: "1.0.0" }, versions });
}

function serve(name: string, content: string | Buffer, more: object = {}): void {
  upstream.answers.set(`/${name}`, (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(packument(name, content, more));
  });
  upstream.answers.set(`/${name}/-/${name}-1.0.0.tgz`, (_request, response) => {
    response.setHeader("content-length", content.length);
    response.end(content);
  });
}

const repositories: Record<string, RepositoryView> = {};
before(async () => {
  const given = { url: upstream.url, isCaching: true };
  repositories["npm"] = await at.proxy("npm", "npm", { ...given, token: "very secret" });
  repositories["own"] = await at.local("own", "npm");
  const members = [repositories["own"], repositories["npm"]].map((it) => it!.repositoryUuid);
  await at.virtual("all", "npm", { includedRepositoryUuids: members, allowRemoteProxying: true });
  await at.virtual("closed", "npm", { includedRepositoryUuids: members });
});

describe("what a proxy keeps", () => {
  const sized = "/project/anna/sized";
  it("counts for the quota of its project; what finds no room is served and not kept", async () => {
    const { id } = await app.givenProject(anna, "sized");
    const root = await app.givenUser("root", { admin: true });
    const own = repositoriesAt(app, `${sized}/repositories`, anna.token);
    const given = { url: upstream.url, isCaching: true };
    const { repositoryUuid } = await own.proxy("npm", "npm", given);
    serve("heavy", large);
    const file = "/registry/project/anna/sized/repository/npm/heavy/-/heavy-1.0.0.tgz";
    const kept = () =>
      app.deps.db("public.proxy_content").where({ repository_id: repositoryUuid }).select("path");
    const allow = (allowedBytes: number | null) =>
      app.put(`/admin/project/${id}/quota`, { token: root.token, body: { allowedBytes } });
    await allow(100_000);
    for (let time = 0; time < 2; time += 1) {
      const body = Buffer.from(await (await get(file)).arrayBuffer());
      expect(body.equals(large)).to.equal(true);
      expect((await kept()).map(({ path }) => path)).to.deep.equal(["short/heavy"]);
    }
    await allow(700_000);
    await (await get(file)).arrayBuffer();
    expect(await kept()).to.have.length(2);
    // With it the project is full: the same repository takes no other file.
    serve("second", large);
    await (await get(file.replaceAll("heavy", "second"))).arrayBuffer();
    expect((await kept()).map(({ path }) => path.split("/")[1]).sort()).to.deep.equal([
      ...["heavy", "heavy", "second"],
    ]);
  });
});

describe("a proxy of packages", () => {
  it("fetches an index and a file once for many requests, and keeps them", async () => {
    serve("left", large);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        get(`${base}/npm/left`, { accept: "application/vnd.npm.install-v1+json" }),
      ),
    );
    const [first] = await Promise.all(answers.map((answer) => answer.json()));
    const { tarball } = (first as { versions: Record<string, { dist: { tarball: string } }> })
      .versions["1.0.0"]!.dist;
    expect(tarball).to.equal(`${app.url}${base}/npm/left/-/left-1.0.0.tgz`);
    const files = await Promise.all(Array.from({ length: 8 }, () => get(tarball)));
    for (const file of files) {
      expect(Buffer.from(await file.arrayBuffer()).equals(large)).to.equal(true);
    }
    const part = await get(tarball, { range: "bytes=5-9" });
    expect([part.status, await part.text()]).to.deep.equal([206, "large"]);
    expect(upstream.requestsFor("/left")).to.have.length(1);
    expect(upstream.requestsFor("/left/-/left-1.0.0.tgz")).to.have.length(1);
  });

  it("cuts a file that is not what the index promised, and keeps nothing of it", async () => {
    serve("lying", "what was promised");
    upstream.answers.set("/lying/-/lying-1.0.0.tgz", (_request, response) => response.end(large));
    for (let n = 1; n <= 2; n += 1) {
      const answer = await get(`${base}/npm/lying/-/lying-1.0.0.tgz`);
      const read = await answer.arrayBuffer().then(
        () => "whole",
        () => "cut",
      );
      expect(read).to.equal("cut");
      expect(upstream.requestsFor("/lying/-/lying-1.0.0.tgz")).to.have.length(n);
    }
  });

  it("cuts a file of which less comes than its length says", async () => {
    serve("short", large, { integrity: undefined });
    upstream.answers.set("/short/-/short-1.0.0.tgz", (_request, response) => {
      response.setHeader("content-length", large.length);
      response.write(large.subarray(0, 300_000), () => response.destroy());
    });
    const answer = await get(`${base}/npm/short/-/short-1.0.0.tgz`);
    expect(
      await answer.arrayBuffer().then(
        () => "whole",
        () => "cut",
      ),
    ).to.equal("cut");
  });

  it("serves a package with thousands of versions", async () => {
    const dist = (version: string) => ({
      ...{ tarball: `${upstream.url}/many/-/many-${version}.tgz`, integrity: sha512("content") },
    });
    const all = Array.from({ length: 2_000 }, (_, n) => `1.0.${n}`);
    const versions = Object.fromEntries(
      all.map((version) => [version, { version, text: "x".repeat(500), dist: dist(version) }]),
    );
    upstream.answers.set("/many", (_request, response) =>
      response.end(JSON.stringify({ name: "many", "dist-tags": { latest: "1.0.7" }, versions })),
    );
    upstream.answers.set("/many/-/many-1.0.7.tgz", (_request, response) => response.end("content"));
    const document = await get(`${base}/npm/many`);
    const text = await document.text();
    expect(text.length).to.be.greaterThan(1_000_000);
    expect(text).not.to.include(upstream.url);
    const one = await (await get(`${base}/npm/many/latest`)).json();
    expect(one).to.include({ version: "1.0.7" });
    expect(await (await get(`${base}/npm/many/-/many-1.0.7.tgz`)).text()).to.equal("content");
    expect((await get(`${base}/npm/many/-/many-2.0.0.tgz`)).status).to.equal(404);
  });

  it("sends its credentials to its own registry alone, also across redirects", async () => {
    serve("moved", "content");
    upstream.answers.set("/moved/-/moved-1.0.0.tgz", (_request, response) =>
      response.writeHead(302, { location: `${stranger.url}/elsewhere` }).end(),
    );
    stranger.answers.set("/elsewhere", (_request, response) => response.end("content"));
    expect(await (await get(`${base}/npm/moved/-/moved-1.0.0.tgz`)).text()).to.equal("content");
    const [own] = upstream.requestsFor("/moved/-/moved-1.0.0.tgz");
    expect(own?.headers.authorization).to.equal("Bearer very secret");
    expect(stranger.requestsFor("/elsewhere")[0]?.headers.authorization).to.equal(undefined);
  });

  it("requests no address that is not public, wherever it is sent", async () => {
    for (const to of ["http://169.254.169.254/latest", "http://10.0.0.1/", "file:///etc/passwd"]) {
      serve("inside", "content", { tarball: to.replace(/\/?$/, "/inside-1.0.0.tgz") });
      repositories["fresh"] = await at.proxy(`fresh-${to.length}`, "npm", { url: upstream.url });
      const answer = await get(`${base}/fresh-${to.length}/inside/-/inside-1.0.0.tgz`);
      expect(answer.status, to).to.equal(502);
    }
    serve("sent", "content");
    upstream.answers.set("/sent/-/sent-1.0.0.tgz", (_request, response) =>
      response.writeHead(302, { location: "http://192.168.0.1/" }).end(),
    );
    expect((await get(`${base}/npm/sent/-/sent-1.0.0.tgz`)).status).to.equal(502);
  });

  it("serves what it keeps while the other registry fails, and when it is to be offline", async () => {
    const url = { url: upstream.url, isCaching: true, metadataRetrievalIntervalSeconds: 0 };
    const { repositoryUuid } = await at.proxy("stale", "npm", url);
    serve("stale", "content");
    expect((await get(`${base}/stale/stale`)).status).to.equal(200);
    expect(await (await get(`${base}/stale/stale/-/stale-1.0.0.tgz`)).text()).to.equal("content");
    upstream.answers.set("/stale", (_request, response) => response.writeHead(503).end());
    expect((await get(`${base}/stale/stale`)).status).to.equal(200);
    expect((await get(`${base}/stale/never`)).status).to.equal(404);
    const proxySettings = { isOffline: true };
    expect((await at.change(repositoryUuid, { type: "PROXY", proxySettings })).status).to.equal(
      200,
    );
    const before = upstream.requests.length;
    expect(await (await get(`${base}/stale/stale/-/stale-1.0.0.tgz`)).text()).to.equal("content");
    expect((await get(`${base}/stale/stale`)).status).to.equal(200);
    expect((await get(`${base}/stale/other`)).status).to.equal(404);
    expect(upstream.requests.length).to.equal(before);
  });

  it("serves a document for its time, and the new one after it", async () => {
    const settings = (metadataRetrievalIntervalSeconds: number) =>
      ({ url: upstream.url, isCaching: true, metadataRetrievalIntervalSeconds }) as const;
    const { repositoryUuid } = await at.proxy("fresh", "npm", settings(60));
    const shown = async () => (await get(`${base}/fresh/fresh`)).text();
    for (const content of ["one", "two"]) {
      serve("fresh", content);
      expect(await shown()).to.include(sha512("one"));
    }
    await at.change(repositoryUuid, { type: "PROXY", proxySettings: settings(0) });
    expect(await shown()).to.include(sha512("two"));
  });

  it("takes nothing that is uploaded", async () => {
    expect((await put(`${base}/npm/left`, "{}")).status).to.equal(405);
  });
});

describe("a virtual repository over proxies", () => {
  it("requests from them what no local member has, where that is allowed", async () => {
    serve("remote", "content");
    const answer = await get(`${base}/all/remote`);
    const { versions } = (await answer.json()) as { versions: Record<string, { dist: object }> };
    const tarball = `${app.url}${base}/all/remote/-/remote-1.0.0.tgz`;
    expect(versions["1.0.0"]?.dist).to.include({ tarball });
    expect(await (await get(tarball)).text()).to.equal("content");
    expect((await get(`${base}/closed/remote`)).status).to.equal(404);
  });

  it("never requests from them a name that a local member has", async () => {
    serve("internal", "of a stranger");
    const { repositoryUuid } = repositories["own"]!;
    await app.deps.db("package").insert({
      id: "00000000-0000-4000-8000-000000000001",
      registry_id: repositoryUuid,
      type: "npm",
      name: "unrelated",
      group_id: "",
      artifact_id: "unrelated",
    });
    const { packageIdOf } = await import("../../../../../src/package/core/coordinates.ts");
    const name = { name: "internal", groupId: "", artifactId: "internal", key: "internal" };
    const id = packageIdOf(repositoryUuid, "npm", name);
    await app.deps.db("package").where("name", "unrelated").update({ id, name: "internal" });
    for (const path of ["internal", "internal/1.0.0", "internal/-/internal-1.0.0.tgz"]) {
      expect((await get(`${base}/all/${path}`)).status, path).to.equal(404);
    }
    expect(upstream.requestsFor("/internal")).to.have.length(0);
  });
});

describe("proxies of other ecosystems", () => {
  it("serve Python packages of an index in HTML or JSON, with their metadata", async () => {
    const content = "a wheel";
    const sha256 = createHash("sha256").update(content).digest("hex");
    const file = "demo-1.0-py3-none-any.whl";
    const link = `<a href="../../w/${file}#sha256=${sha256}" data-requires-python="&gt;=3.8">${file}</a>`;
    upstream.answers.set("/simple/demo/", (_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<!DOCTYPE html><html><body>${link}</body></html>`);
    });
    upstream.answers.set(`/w/${file}`, (_request, response) => response.end(content));
    await at.proxy("python", "pypi", { url: `${upstream.url}/simple/` });
    const list = await get(`${base}/python/simple/demo/`, {
      accept: "application/vnd.pypi.simple.v1+json",
    });
    const [found] = ((await list.json()) as { files: { url: string; hashes: object }[] }).files;
    expect(found).to.include({ "requires-python": ">=3.8" });
    expect(found?.hashes).to.deep.equal({ sha256 });
    expect(await (await get(found!.url)).text()).to.equal(content);
    const html = await get(`${base}/python/simple/demo/`, { accept: "text/html" });
    expect(await html.text()).to.include(`#sha256=${sha256}`);
  });

  it("serve packages of NuGet, whose documents name this service alone", async () => {
    const far = `${upstream.url}/far`;
    const json = (path: string, document: unknown, packed = false) =>
      upstream.answers.set(path, (_request, response) => {
        const text = JSON.stringify(document);
        if (packed) response.setHeader("content-encoding", "gzip");
        response.end(packed ? gzipSync(text) : text);
      });
    const resources = [
      { "@id": `${far}/flat`, "@type": "PackageBaseAddress/3.0.0" },
      { "@id": `${far}/reg/`, "@type": ["RegistrationsBaseUrl/3.6.0", "Other"] },
      { "@type": "Broken" },
    ];
    json("/nuget/v3/index.json", { version: "3.0.0", resources });
    json("/far/flat/acme.pad/index.json", { versions: ["1.0.0", "2.0.0-rc"] });
    const leaf = (version: string) => ({
      "@id": `${far}/reg/acme.pad/${version}.json`,
      packageContent: `${stranger.url}/acme.pad.${version}.nupkg`,
      catalogEntry: {
        "@id": `${far}/catalog/${version}.json`,
        id: "Acme.Pad",
        version,
        listed: true,
        dependencyGroups: [
          { dependencies: [{ id: "Json.Net", range: "[1.0, )", registration: `${far}/x` }] },
        ],
      },
    });
    const page = (version: string, inline: boolean) => ({
      "@id": `${far}/reg/acme.pad/page-of-${version}.json`,
      ...{ count: 1, lower: version, upper: version },
      ...(inline && { items: [leaf(version)] }),
    });
    // One page with its versions in it, one without.
    const items = [page("1.0.0", true), page("2.0.0-rc", false)];
    json("/far/reg/acme.pad/index.json", { count: 2, items }, true);
    json("/far/reg/acme.pad/page-of-2.0.0-rc.json", page("2.0.0-rc", true), true);
    upstream.answers.set("/far/flat/acme.pad/1.0.0/acme.pad.1.0.0.nupkg", (_request, response) =>
      response.end("a package"),
    );
    const url = `${upstream.url}/nuget/v3/index.json`;
    const { repositoryUuid } = await at.proxy("dotnet", "nuget", { url, isCaching: true });
    await at.virtual("dotnet-all", "nuget", {
      includedRepositoryUuids: [repositoryUuid],
      allowRemoteProxying: true,
    });
    const own = `${app.url}${base}/dotnet`;
    const read = async (path: string) => (await get(`${own}/${path}`)).json();
    const types = JSON.stringify(await read("index.json"));
    expect(types).to.include("PackageBaseAddress").and.not.include("PackagePublish");
    expect(await read("flat/Acme.Pad/index.json")).to.deep.equal({
      versions: ["1.0.0", "2.0.0-rc"],
    });
    const file = "flat/acme.pad/1.0.0/acme.pad.1.0.0.nupkg";
    expect(await (await get(`${own}/${file}`)).text()).to.equal("a package");
    expect(await (await get(`${own}-all/${file}`)).text()).to.equal("a package");
    expect(upstream.requestsFor(`/far/${file}`)).to.have.length(1);
    expect((await get(`${own}/flat/acme.pad/1.0.0/other.1.0.0.nupkg`)).status).to.equal(404);

    const all = "registration-semver2/acme.pad";
    type Page = Readonly<{ "@id": string; items?: object[] }>;
    const index = (await read(`${all}/index.json`)) as Readonly<{ items: readonly Page[] }>;
    expect(index.items.map(({ items: leaves }) => leaves?.length)).to.deep.equal([1, undefined]);
    const second = (await (await get(index.items[1]!["@id"])).json()) as Page;
    for (const document of [index, second, await read(`${all}/2.0.0-RC.json`)]) {
      const text = JSON.stringify(document);
      expect(text).not.to.include(upstream.url).and.not.to.include(stranger.url);
      expect(text).to.include(`${own}/flat/acme.pad/`);
    }
    expect(second.items).to.have.length(1);
    expect((await get(`${own}/${all}/3.0.0.json`)).status).to.equal(404);
    expect((await get(`${own}/${all}/page/1.0.0/9.0.0.json`)).status).to.equal(404);
    expect((await get(`${own}/flat/no.such/index.json`)).status).to.equal(404);
    // What a small answer unpacks to is bounded, and what is no document is refused.
    upstream.answers.set("/far/flat/bomb/index.json", (_request, response) => {
      response.setHeader("content-encoding", "gzip");
      response.end(gzipSync(Buffer.alloc(65 * 1024 ** 2)));
    });
    expect((await get(`${own}/flat/bomb/index.json`)).status).to.equal(502);
    const versions = Array.from({ length: 100_000 }, (_, at) => `${at}.0.0-preview`);
    json("/far/flat/vast/index.json", { versions });
    expect((await get(`${own}/flat/vast/index.json`)).status).to.equal(502);
    json("/far/reg/vast/index.json", { count: 0, items: [], more: "x".repeat(2 * 1024 ** 2) });
    expect((await get(`${own}/registration-semver2/vast/index.json`)).status).to.equal(502);
    const crowd = Array(5_001).fill({ catalogEntry: { version: "1" } });
    json("/far/reg/crowd/index.json", { items: [{ ...page("1.0.0", false), items: crowd }] });
    expect((await get(`${own}/registration-semver2/crowd/index.json`)).status).to.equal(502);
    json("/far/flat/odd/index.json", ["odd"]);
    expect((await get(`${own}/flat/odd/index.json`)).status).to.equal(502);
  });

  it("serve files of Maven by the sums beside them", async () => {
    const content = "a jar";
    const sha1 = createHash("sha1").update(content).digest("hex");
    const path = "org/demo/tool/1.0/tool-1.0.jar";
    upstream.answers.set(`/m/${path}`, (_request, response) => response.end(content));
    upstream.answers.set(`/m/${path}.sha1`, (_request, response) => response.end(`${sha1}  x`));
    upstream.answers.set("/m/org/demo/tool/maven-metadata.xml", (_request, response) =>
      response.end("<metadata/>"),
    );
    await at.proxy("java", "maven", { url: `${upstream.url}/m` });
    expect(await (await get(`${base}/java/${path}`)).text()).to.equal(content);
    const metadata = await get(`${base}/java/org/demo/tool/maven-metadata.xml`);
    expect(await metadata.text()).to.equal("<metadata/>");
    expect((await get(`${base}/java/org/demo/tool/2.0/tool-2.0.jar`)).status).to.equal(404);
    upstream.answers.set(`/m/${path.replaceAll("1.0", "3.0")}`, (_request, response) =>
      response.end("wrong"),
    );
    upstream.answers.set(`/m/${path.replaceAll("1.0", "3.0")}.sha1`, (_request, response) =>
      response.end(sha1),
    );
    const wrong = await get(`${base}/java/${path.replaceAll("1.0", "3.0")}`);
    expect(wrong.status).to.equal(502);
  });
});
