import { expect } from "chai";
import { mavenKeptPaths } from "../../../../../src/http/protocol/package/maven/proxy.ts";
import { npmKeptPaths } from "../../../../../src/http/protocol/package/npm/proxy.ts";
import { nugetKeptPaths } from "../../../../../src/http/protocol/package/nuget/proxy.ts";
import { keep, ownsName } from "../../../../../src/http/protocol/package/proxy/cached-content.ts";
import { pypiKeptPaths } from "../../../../../src/http/protocol/package/pypi/proxy.ts";
import { registryRepositoriesWithIds } from "../../../../../src/projections/registry/repository.ts";
import { type RepositoryView, startRegistryApp } from "../../../../support/client/registry.ts";
import { startUpstream } from "../../../../support/client/upstream.ts";
import { packageUploads } from "../../../../support/package/package-upload.ts";

const stranger = await startUpstream();
const upstream = await startUpstream();
const { app, anna, at, baseOf, headers } = await startRegistryApp({ reachesLoopback: true });
const status = async (path: string): Promise<number> => {
  const url = `${app.url}/registry/project/anna/forge/repository/both/${path}`;
  return (await fetch(url, { headers })).status;
};

function serve({ answers }: typeof upstream, name: string): void {
  answers.set(`/${name}`, (_request, response) =>
    response.end(JSON.stringify({ name, "dist-tags": {}, versions: {} })),
  );
}

describe("proxies of one virtual repository", () => {
  const members: RepositoryView[] = [];
  before(async () => {
    members.push(await at.proxy("first", "npm", { url: upstream.url }));
    members.push(await at.proxy("second", "npm", { url: stranger.url }));
    await at.virtual("both", "npm", {
      includedRepositoryUuids: members.map((it) => it.repositoryUuid),
      allowRemoteProxying: true,
    });
  });

  it("leave a name to the first that has served it", async () => {
    serve(upstream, "ours");
    serve(stranger, "ours");
    serve(stranger, "theirs");
    expect(await status("ours")).to.equal(200);
    expect(await status("ours/9.9.9")).to.equal(404);
    expect(stranger.requestsFor("/ours")).to.have.length(0);
    expect(await status("theirs")).to.equal(200);
    expect(stranger.requestsFor("/theirs")).to.have.length(1);
  });

  it("leave all names to one that is offline", async () => {
    serve(stranger, "private");
    const offline = (isOffline: boolean) =>
      at.change(members[0]!.repositoryUuid, { type: "PROXY", proxySettings: { isOffline } });
    await offline(true);
    expect(await status("private")).to.equal(404);
    expect(stranger.requestsFor("/private")).to.have.length(0);
    await offline(false);
    expect(await status("private")).to.equal(200);
  });

  it("find what was kept of a name in each ecosystem", async () => {
    const { repositoryUuid } = members[0]!;
    const row = (await registryRepositoriesWithIds(app.deps.db, [repositoryUuid as never])).get(
      repositoryUuid as never,
    )!;
    const owns = (paths: readonly string[]) => ownsName(row, paths, app.deps.db);
    const name = (key: string, groupId = "") => ({ name: key, groupId, artifactId: key, key });
    const at = { repositoryId: repositoryUuid, path: "" };
    for (const [path, own, other] of [
      ["simple/a.b", pypiKeptPaths(name("a.b")), pypiKeptPaths(name("axb"))],
      ["registration-gz/pad", nugetKeptPaths(name("pad")), nugetKeptPaths(name("pa"))],
      ["full/@a/b+c", npmKeptPaths(name("@a/b+c")), npmKeptPaths(name("@a/bbc"))],
      [
        ...["document/org/x/tool/1.0/tool-1.0.pom.sha1"],
        ...[mavenKeptPaths(name("tool", "org.x")), mavenKeptPaths(name("x", "org"))],
      ],
      [
        ...["file/org/x/jar-1.+/1/jar.jar/00"],
        ...[mavenKeptPaths(name("jar-1.+", "org.x")), mavenKeptPaths(name("jar-11", "org.x"))],
      ],
    ] as const) {
      const blob = { digest: "0".repeat(64), bytes: 1n, release: async () => undefined };
      await keep(app.deps.db, { ...at, path }, { blob, type: "", etag: "" } as never);
      expect([await owns(own), await owns(other)], path).to.deep.equal([true, false]);
    }
  });
});

describe("a name of a local member", () => {
  const uploads = packageUploads("ours");
  const spellings = {
    npm: ["tool", "tool/9.9.9", "tool/-/tool-9.9.9.tgz"],
    pypi: ["simple/tool/", "simple/Tool/", "simple/TOOL"],
    nuget: ["flat/tool/index.json", "registration/TOOL/index.json", "flat/Tool/9/tool.9.nupkg"],
    maven: ["org/acme/tool/maven-metadata.xml", "org/acme/tool/9.9/tool-9.9.jar"],
  } as const;

  for (const [type, paths] of Object.entries(spellings)) {
    it(`is requested from no proxy before it or after it, not from the trash either: ${type}`, async () => {
      const upload = uploads[type]!;
      const ids = [
        await at.proxy(`far-${type}`, type, { url: stranger.url }),
        await at.local(`own-${type}`, type, { isDeletePackageAllowed: true }),
      ].map(({ repositoryUuid }) => repositoryUuid);
      const settings = { includedRepositoryUuids: ids, allowRemoteProxying: true };
      await at.virtual(`all-${type}`, type, { ...settings, deploymentRepositoryUuid: ids[1] });
      const { method, type: contentType, body } = upload;
      const stored = await fetch(`${baseOf(`all-${type}`)}/${upload.path}`, {
        method,
        headers: { ...headers, "content-type": contentType },
        body: new Uint8Array(body),
      });
      expect(stored.status, await stored.text()).to.be.within(200, 201);
      const requested = async () => {
        const before = stranger.requests.length;
        for (const path of paths) await fetch(`${baseOf(`all-${type}`)}/${path}`, { headers });
        return stranger.requests.slice(before).filter(({ url }) => /tool/i.test(url ?? ""));
      };
      expect(await requested()).to.have.length(0);
      const place = `/project/anna/forge/repositories/${ids[1]}/package`;
      const [found] = await app.deps.db("package").where("registry_id", ids[1]);
      const removed = await app.delete(`${place}/${found.id}`, { token: anna.token });
      expect(removed.status, removed.text).to.equal(204);
      expect(await requested(), "in the trash").to.have.length(0);
      const before = stranger.requests.length;
      const other = paths[0].replace(/tool/i, "other");
      await fetch(`${baseOf(`all-${type}`)}/${other}`, { headers });
      expect(stranger.requests.length, "another name").to.be.greaterThan(before);
    });
  }
});
