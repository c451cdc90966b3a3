import { expect } from "chai";

import { keep, ownsName } from "../../../../src/http/registry/proxy/kept.ts";
import { mavenKeptPaths } from "../../../../src/http/registry/type/maven-proxy.ts";
import { npmKeptPaths } from "../../../../src/http/registry/type/npm-proxy.ts";
import { nugetKeptPaths } from "../../../../src/http/registry/type/nuget-proxy.ts";
import { pypiKeptPaths } from "../../../../src/http/registry/type/pypi-proxy.ts";
import { registryRepositoriesWithIds } from "../../../../src/projections/registry/repository.ts";
import { type RepositoryView, startRegistryApp } from "../../../support/registry.ts";
import { startUpstream } from "../../../support/upstream.ts";

const stranger = await startUpstream();
const upstream = await startUpstream();
const { app, at, headers } = await startRegistryApp({ reachesLoopback: true });
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
