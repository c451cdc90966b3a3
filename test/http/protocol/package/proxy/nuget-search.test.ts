import { expect } from "chai";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { startUpstream } from "../../../../support/client/upstream.ts";
import { nupkg } from "../../../../support/git/archive.ts";

const upstream = await startUpstream();
const { app, at, baseOf, headers } = await startRegistryApp({ reachesLoopback: true });

type Found = Readonly<{ totalHits: number; data: readonly Readonly<Record<string, unknown>>[] }>;
const json = async (path: string): Promise<Found> => {
  const answer = await fetch(`${baseOf("")}${path}`, { headers });
  expect(answer.status, path).to.equal(200);
  return (await answer.json()) as Found;
};
const idsAt = async (path: string) => (await json(path)).data.map(({ id }) => id);

function serve(path: string, document: unknown): void {
  upstream.answers.set(path, (_request, response) => response.end(JSON.stringify(document)));
}

async function store(repository: string, id: string): Promise<void> {
  const body = new FormData();
  body.append("package", new Blob([new Uint8Array(nupkg(id, "1.0.0"))]), "package");
  const stored = await fetch(`${baseOf(repository)}/package`, { method: "PUT", headers, body });
  expect(stored.status).to.equal(201);
}

const result = (id: string) => ({
  "@id": `${upstream.url}/far/registration/${id}`,
  id,
  version: "2.0.0",
  authors: ["Somewhere"],
  verified: true,
  versions: [{ version: "2.0.0+build", downloads: 7, "@id": `${upstream.url}/far/leaf` }],
});

describe("a search through a proxy of NuGet", () => {
  before(async () => {
    const searches = [
      { "@id": `${upstream.url}/far/query`, "@type": "SearchQueryService/3.0.0-rc" },
      { "@id": `${upstream.url}/far/complete`, "@type": "SearchAutocompleteService" },
    ];
    serve("/nuget/index.json", { version: "3.0.0", resources: searches });
    const both = [result("Far.Pad"), result("acme.pad"), { id: "Broken" }, result("../x")];
    serve("/far/query?q=pad&skip=0&take=20", { totalHits: 9, data: both });
    serve("/far/query?q=pad&skip=0&take=19", { totalHits: 9, data: both });
    const next = [result("acme.pad"), result("Far.Other")];
    serve("/far/query?q=pad&skip=1&take=1", { totalHits: 9, data: next });
    serve("/far/complete?q=pad&skip=0&take=19", { totalHits: 9, data: ["Far.Pad", "acme.pad"] });
    serve("/far/complete?id=Far.Pad&skip=0&take=20", { data: ["1.0.0", "2.0.0"] });
    const own = await at.local("own", "nuget");
    const far = await at.proxy("far", "nuget", { url: `${upstream.url}/nuget/index.json` });
    const members = [own, far].map(({ repositoryUuid }) => repositoryUuid);
    const settings = { includedRepositoryUuids: members };
    await at.virtual("all", "nuget", { ...settings, allowRemoteProxying: true });
    await at.virtual("closed", "nuget", settings);
    await store("own", "Acme.Pad");
  });

  it("finds what the external registry has, at addresses of this service", async () => {
    const { totalHits, data } = await json("far/query?q=pad");
    expect(totalHits).to.equal(9);
    expect(data.map(({ id }) => id)).to.deep.equal(["Far.Pad", "acme.pad"]);
    const registration = `${baseOf("far")}/registration-semver2/far.pad`;
    expect(data[0]).to.deep.include({
      registration: `${registration}/index.json`,
      versions: [{ "@id": `${registration}/2.0.0.json`, version: "2.0.0+build", downloads: 7 }],
    });
    expect(JSON.stringify(data)).not.to.include(upstream.url);
    const index = JSON.stringify(await json("far/index.json"));
    expect(index)
      .to.include(`${baseOf("far")}/query`)
      .and.not.to.include("PackagePublish");
  });

  it("comes behind what local members have, and never shows a name of theirs as another's", async () => {
    const { totalHits, data } = await json("all/query?q=pad");
    expect(totalHits).to.equal(10);
    expect(data.map(({ id, version }) => `${id} ${version}`)).to.deep.equal([
      "Acme.Pad 1.0.0",
      "Far.Pad 2.0.0",
    ]);
    expect(await idsAt("all/query?q=pad&skip=2&take=1")).to.deep.equal(["Far.Other"]);
    expect(await idsAt("closed/query?q=pad")).to.deep.equal(["Acme.Pad"]);
    const names = await json("all/autocomplete?q=pad");
    expect(names.data).to.deep.equal(["Acme.Pad", "Far.Pad"]);
    const versions = await json("all/autocomplete?id=Far.Pad");
    expect(versions.data).to.deep.equal(["1.0.0", "2.0.0"]);
  });

  it("finds what local members have while the external registry fails", async () => {
    upstream.answers.set("/far/query?q=acme&skip=0&take=19", (_request, response) =>
      response.writeHead(500).end(),
    );
    expect(await idsAt("all/query?q=acme")).to.deep.equal(["Acme.Pad"]);
  });

  it("compares few of many names with those of local members, and no versions", async () => {
    const many = Array.from({ length: 3_000 }, (_, n) => `Far.N${n}`);
    serve("/far/complete?q=many&skip=0&take=20", { totalHits: 3_000, data: many });
    const compared: number[] = [];
    const note = ({ bindings }: Readonly<{ bindings?: readonly unknown[] }>) =>
      compared.push(
        ...(bindings ?? []).flatMap((each) => (Array.isArray(each) ? each.length : [])),
      );
    app.deps.db.on("query", note);
    const { data } = await json("all/autocomplete?q=many");
    app.deps.db.off("query", note);
    expect(data).to.deep.equal(many.slice(0, 20));
    expect(Math.max(...compared)).to.be.within(20, 100);

    // A local member has a package of the name of a version.
    await store("own", "2.0.0");
    const versions = await json("all/autocomplete?id=Far.Pad");
    expect(versions.data).to.deep.equal(["1.0.0", "2.0.0"]);
  });

  it("is paused alone when it fails", async () => {
    const settings = { url: `${upstream.url}/split/index.json`, isCaching: true };
    const proxySettings = { ...settings, metadataRetrievalIntervalSeconds: 3_600 };
    const { repositoryUuid } = await at.proxy("split", "nuget", proxySettings);
    const resources = [
      { "@id": `${upstream.url}/split/query`, "@type": "SearchQueryService" },
      { "@id": `${upstream.url}/split/flat`, "@type": "PackageBaseAddress/3.0.0" },
    ];
    serve("/split/index.json", { version: "3.0.0", resources });
    const versions = "/split/flat/pad/index.json";
    serve(versions, { versions: ["1.0.0"] });
    expect(await json("split/flat/pad/index.json")).to.deep.equal({ versions: ["1.0.0"] });
    const statusOf = async (text: string) =>
      (await fetch(`${baseOf("split")}/query?q=${text}`, { headers })).status;
    const path = (text: string) => `/split/query?q=${text}&skip=0&take=20`;
    for (const text of ["one", "two", "three", "four"]) {
      upstream.answers.set(path(text), (_request, response) => response.writeHead(500).end());
      expect(await statusOf(text)).to.equal(502);
    }

    const old = { ...proxySettings, metadataRetrievalIntervalSeconds: 0 };
    const changed = await at.change(repositoryUuid, { type: "PROXY", proxySettings: old });
    expect(changed.status, changed.text).to.equal(200);
    serve(versions, { versions: ["1.0.0", "2.0.0"] });
    expect(await json("split/flat/pad/index.json"), "what is not searched").to.deep.equal({
      versions: ["1.0.0", "2.0.0"],
    });
    expect(upstream.requestsFor(path("three")), "asked until it is paused").to.have.length(1);
    expect(upstream.requestsFor(path("four"))).to.have.length(0);
  });
});
