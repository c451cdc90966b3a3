import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { startTestApp } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { run } from "../../../support/client/native-registry.ts";
import { repositoriesAt } from "../../../support/client/registry.ts";
import { needsProgram } from "../../../support/process/program.ts";

const imageType = "application/vnd.oci.image.manifest.v1+json";
const indexType = "application/vnd.oci.image.index.v1+json";
const app = await startTestApp({ reachesLoopback: true });
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
await app.givenProject(anna, "forge");
const at = repositoriesAt(app, "/project/anna/forge/repositories", anna.token);
const own = "/v2/anna/forge";
const authorization = basicAuth("anna", anna.token);

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
const upstream = await givenServer();
const stranger = await givenServer();

const digestOf = (content: string | Buffer) =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`;
const send = (method: string, path: string, body?: string, type = "application/octet-stream") =>
  fetch(app.url + path, {
    method,
    headers: { authorization, "content-type": type },
    ...(body !== undefined && { body }),
  });
const get = (path: string) => send("GET", path);

const descriptor = (mediaType: string, content: string) => ({
  mediaType,
  digest: digestOf(content),
  size: Buffer.byteLength(content),
});
const manifestOf = (layer: string) =>
  JSON.stringify({
    schemaVersion: 2,
    mediaType: imageType,
    config: descriptor("application/vnd.oci.image.config.v1+json", "{}"),
    layers: [descriptor("application/vnd.oci.image.layer.v1.tar", layer)],
  });

/** Pushes an image with one layer to a repository of anna's; its manifest. */
async function pushed(image: string, tag: string, layer: string): Promise<string> {
  for (const content of ["{}", layer]) {
    const to = `${own}/${image}/blobs/uploads/?digest=${digestOf(content)}`;
    expect((await send("POST", to, content)).status).to.equal(201);
  }
  const manifest = manifestOf(layer);
  const stored = await send("PUT", `${own}/${image}/manifests/${tag}`, manifest, imageType);
  expect(stored.status).to.equal(201);
  return manifest;
}

/** An image at the other registry, which requires a token first. */
function serve(image: string, layer: string, realm = `${upstream.url}/token`): string {
  const manifest = manifestOf(layer);
  const contents: readonly (readonly [string, string, string])[] = [
    [`manifests/1`, imageType, manifest],
    [`manifests/${digestOf(manifest)}`, imageType, manifest],
    [`blobs/${digestOf(layer)}`, "application/octet-stream", layer],
  ];
  for (const [path, type, content] of contents) {
    upstream.answers.set(`/v2/${image}/${path}`, ({ headers }, response) => {
      if (headers.authorization !== `Bearer for-${image}`) {
        const challenge = `Bearer realm="${realm}",service="far",scope="repository:${image}:pull"`;
        response.writeHead(401, { "www-authenticate": challenge }).end();
        return;
      }
      response.setHeader("content-type", type);
      response.setHeader("content-length", Buffer.byteLength(content));
      response.end(content);
    });
  }
  return manifest;
}

const gives: Handler = ({ url = "" }, response) => {
  const scope = new URL(url, upstream.url).searchParams.get("scope") ?? "";
  response.end(JSON.stringify({ token: `for-${scope.split(":")[1]}`, expires_in: 300 }));
};

before(async () => {
  await at.local("images", "container");
  const url = `${app.url}/v2/anna/forge/images`;
  await at.proxy("mirror", "container", {
    ...{ url, username: "anna", token: anna.token, isCaching: true },
    metadataRetrievalIntervalSeconds: 0,
  });
  const far = { url: upstream.url, username: "us", token: "very secret", isCaching: true };
  const { repositoryUuid: id } = await at.proxy("far", "container", far);
  const { repositoryUuid: local } = await at.local("near", "container");
  await at.virtual("all", "container", {
    includedRepositoryUuids: [local, id],
    allowRemoteProxying: true,
  });
});

describe("a proxy of images", () => {
  it("reads a registry that gives tokens: by tag, by digest, layers, tags and referrers", async () => {
    const manifest = await pushed("images/team/app", "1.0", "a layer");
    const digest = digestOf(manifest);
    for (const reference of ["1.0", digest]) {
      const answer = await get(`${own}/mirror/team/app/manifests/${reference}`);
      expect(await answer.text()).to.equal(manifest);
      expect(answer.headers.get("docker-content-digest")).to.equal(digest);
      expect(answer.headers.get("content-type")).to.equal(imageType);
    }
    const layer = `${own}/mirror/team/app/blobs/${digestOf("a layer")}`;
    const length = async () => (await send("HEAD", layer)).headers.get("content-length");
    expect(await length()).to.equal("7");
    expect(await (await get(layer)).text()).to.equal("a layer");
    expect(await length()).to.equal("7");
    await pushed("images/team/app", "1.1", "another layer");
    const list = `${own}/mirror/team/app/tags/list`;
    expect(await (await get(list)).json()).to.deep.include({ tags: ["1.0", "1.1"] });
    const paged = await get(`${list}?n=1`);
    expect(await paged.json()).to.deep.include({ tags: ["1.0"] });
    expect(paged.headers.get("link")).to.include("n=1&last=1.0");
    expect(await (await get(`${list}?n=1&last=1.0`)).json()).to.deep.include({ tags: ["1.1"] });
    const referring = await get(`${own}/mirror/team/app/referrers/${digest}`);
    expect(referring.headers.get("content-type")).to.equal(indexType);
    for (const path of ["none/manifests/1", `team/app/blobs/${digestOf("none")}`]) {
      expect((await get(`${own}/mirror/${path}`)).status, path).to.equal(404);
    }
  });

  it("takes nothing that is pushed, and shows nothing to who may not read it", async () => {
    expect((await send("POST", `${own}/mirror/team/app/blobs/uploads/`)).status).to.equal(405);
    const headers = { authorization: basicAuth("bob", bob.token) };
    const answer = await fetch(`${app.url}${own}/mirror/team/app/manifests/1.0`, { headers });
    expect(answer.status).to.equal(403);
    expect((await fetch(`${app.url}${own}/mirror/team/app/manifests/1.0`)).status).to.equal(401);
  });

  it("requests a token with its credentials once, and a layer once for many", async () => {
    upstream.answers.set("/token", gives);
    const layer = "far layer".repeat(50_000);
    const manifest = serve("library/tool", layer);
    const image = `${own}/far/library/tool`;
    expect(await (await get(`${image}/manifests/1`)).text()).to.equal(manifest);
    const bodies = await Promise.all(
      Array.from({ length: 5 }, async () =>
        (await get(`${image}/blobs/${digestOf(layer)}`)).text(),
      ),
    );
    expect(new Set(bodies)).to.deep.equal(new Set([layer]));
    expect(upstream.requestsFor(`/v2/library/tool/blobs/${digestOf(layer)}`)).to.have.length(1);
    const [tokenRequest, ...more] = upstream.requests.filter(({ url = "" }) =>
      url.startsWith("/token"),
    );
    expect(more).to.deep.equal([]);
    expect(tokenRequest?.headers.authorization).to.equal(basicAuth("us", "very secret"));
    expect(tokenRequest?.url).to.include("service=far").and.to.include("library%2Ftool%3Apull");
    // They go nowhere else: what reads the image is the token.
    for (const { url = "", headers } of upstream.requests) {
      if (!url.startsWith("/token")) expect(headers.authorization ?? "").not.to.match(/^Basic/);
    }
  });

  it("sends no credentials to a place of tokens elsewhere without TLS", async () => {
    stranger.answers.set("/token", gives);
    serve("elsewhere", "layer", `${stranger.url}/token`);
    expect((await get(`${own}/far/elsewhere/manifests/1`)).status).to.equal(200);
    expect(stranger.requests).to.have.length(1);
    expect(stranger.requests[0]?.headers.authorization).to.equal(undefined);
    for (const realm of ["http://169.254.169.254/token", "file:///etc/passwd", "nowhere"]) {
      serve("inside", "layer", realm);
      expect((await get(`${own}/far/inside/manifests/1`)).status, realm).to.equal(502);
    }
  });

  it("has no image that is denied to a token for it alone", async () => {
    upstream.answers.set("/token", gives);
    for (const name of ["hidden", "refused"]) {
      upstream.answers.set(`/v2/${name}/manifests/1`, (_request, response) => {
        const challenge = `Bearer realm="${upstream.url}/token",service="far"`;
        response.writeHead(401, { "www-authenticate": challenge }).end();
      });
    }
    const read = async (name: string) => (await get(`${own}/far/${name}/manifests/1`)).status;
    expect(await read("hidden")).to.equal(404);
    // Where no token is given, the credentials of the proxy may be wrong.
    upstream.answers.set("/token", (_request, response) => response.writeHead(403).end());
    expect(await read("refused")).to.equal(502);
    upstream.answers.set("/token", gives);
  });

  it("refuses manifests and layers that are not what their digest says, and keeps none", async () => {
    const manifest = serve("lying", "what was promised");
    const login = { authorization: "Bearer for-lying" };
    const wrong = (path: string, content: string) =>
      upstream.answers.set(`/v2/lying/${path}`, ({ headers }, response) => {
        expect(headers).to.include(login);
        response.setHeader("content-type", imageType);
        response.setHeader("content-length", content.length);
        response.end(content);
      });
    expect((await get(`${own}/far/lying/manifests/1`)).status).to.equal(200);
    const byDigest = `manifests/${digestOf(manifest)}`;
    wrong(byDigest, manifestOf("other"));
    const layer = `blobs/${digestOf("what was promised")}`;
    wrong(layer, "something else ");
    wrong("manifests/odd", '{"schemaVersion":1}');
    for (const path of [byDigest, layer, "manifests/odd"]) {
      expect((await get(`${own}/far/lying/${path}`)).status, path).to.equal(502);
    }
    const kept = await app.deps.db("public.proxy_content").pluck("path");
    expect(kept)
      .to.include("manifest/lying/1")
      .and.not.to.include(`manifest/lying/${digestOf(manifest)}`);
    expect(kept).not.to.include(layer.replace("blobs/", "blob/"));
  });

  it("refuses lists that would take long to read", async () => {
    const more = "x".repeat(1024 ** 2);
    const digest = digestOf("vast");
    upstream.answers.set("/v2/vast/tags/list", (_request, response) =>
      response.end(JSON.stringify({ tags: ["1"], more })),
    );
    upstream.answers.set(`/v2/vast/referrers/${digest}`, (_request, response) =>
      response.end(JSON.stringify({ manifests: [], more })),
    );
    expect((await get(`${own}/far/vast/tags/list`)).status).to.equal(502);
    expect((await get(`${own}/far/vast/referrers/${digest}`)).status).to.equal(502);
  });

  it("is queried through a virtual repository for images that no local member has", async () => {
    const manifest = serve("outside", "outside layer");
    expect(await (await get(`${own}/all/outside/manifests/1`)).text()).to.equal(manifest);
    serve("inner", "of a stranger");
    const ours = await pushed("near/inner", "1", "of ours");
    expect(await (await get(`${own}/all/inner/manifests/1`)).text()).to.equal(ours);
    const strange = digestOf("of a stranger");
    expect((await get(`${own}/all/inner/blobs/${strange}`)).status).to.equal(404);
    expect((await get(`${own}/all/nowhere/manifests/1`)).status).to.equal(404);
    expect(upstream.requests.filter(({ url = "" }) => url.includes("/inner/"))).to.deep.equal([]);
  });

  it("leaves an image to the first proxy that has served it", async () => {
    const far = { url: upstream.url, username: "us", token: "very secret" };
    const { repositoryUuid: first } = await at.proxy("first", "container", far);
    const { repositoryUuid: second } = await at.proxy("second", "container", { url: stranger.url });
    const includedRepositoryUuids = [first, second];
    await at.virtual("both", "container", { includedRepositoryUuids, allowRemoteProxying: true });
    serve("first/tool", "of the first");
    for (const image of ["first/tool", "first/tool/other"]) {
      stranger.answers.set(`/v2/${image}/manifests/2`, (_request, response) => {
        response.setHeader("content-type", imageType);
        response.end(manifestOf("of a stranger"));
      });
    }
    const status = async (path: string) => (await get(`${own}/both/${path}`)).status;
    expect(await status("first/tool/manifests/1")).to.equal(200);
    expect(await status("first/tool/manifests/2")).to.equal(404);
    expect(await status("first/tool/other/manifests/2")).to.equal(200);
    expect(stranger.requestsFor("/v2/first/tool/manifests/2")).to.have.length(0);
  });
});

describe("skopeo", () => {
  if (!needsProgram("skopeo")) return;
  it("reads an image through a proxy", async () => {
    await pushed("images/skopeo", "1", "skopeo's layer");
    const from = `docker://${new URL(app.url).host}/anna/forge/mirror/skopeo:1`;
    const login = [`--creds=anna:${anna.token}`, "--tls-verify=false"];
    const { stdout } = await run("skopeo", ["inspect", ...login, from]);
    const { Layers: layers } = JSON.parse(stdout) as { Layers: string[] };
    expect(layers).to.deep.equal([digestOf("skopeo's layer")]);
  });
});

async function givenServer() {
  const answers = new Map<string, Handler>();
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const { url = "" } = request;
    const answer = answers.get(url) ?? answers.get(url.split("?")[0] ?? "");
    if (answer === undefined) response.writeHead(404).end();
    else answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const requestsFor = (path: string) => requests.filter(({ url }) => url === path);
  return { url: `http://127.0.0.1:${port}`, answers, requests, requestsFor };
}
