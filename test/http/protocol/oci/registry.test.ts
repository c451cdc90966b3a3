import { createHash } from "node:crypto";
import { request as httpRequest } from "node:http";
import { expect } from "chai";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { repositoriesAt } from "../../../support/client/registry.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
await app.givenProject(anna, "forge");
await app.givenProject(bob, "shed");
const at = repositoriesAt(app, "/project/anna/forge/repositories", anna.token);
const bobs = repositoriesAt(app, "/project/bob/shed/repositories", bob.token);
const imageType = "application/vnd.oci.image.manifest.v1+json";
const indexType = "application/vnd.oci.image.index.v1+json";
const images = "/v2/anna/forge/images";

const digestOf = (content: string | Buffer) =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`;
const basic = ({ alias, token }: Pick<TestUser, "alias" | "token">) => ({
  authorization: basicAuth(alias, token),
});
type Sent = Readonly<{ headers?: Record<string, string>; body?: string | Buffer; as?: TestUser }>;
const send = (method: string, path: string, { headers = {}, body, as = anna }: Sent = {}) =>
  fetch(path.startsWith("http") ? path : app.url + path, {
    method,
    headers: { ...basic(as), ...headers },
    ...(body === undefined ? {} : { body }),
  } as RequestInit);
const codeOf = async (answer: Response) => {
  const { errors } = (await answer.json()) as { errors: { code: string }[] };
  return [answer.status, errors[0]?.code];
};

async function push(image: string, content: string, as = anna): Promise<string> {
  const digest = digestOf(content);
  const answer = await send("POST", `${image}/blobs/uploads/?digest=${digest}`, {
    body: content,
    as,
  });
  expect(answer.status, await answer.text()).to.equal(201);
  return digest;
}

const descriptor = (mediaType: string, content: string) => ({
  mediaType,
  digest: digestOf(content),
  size: Buffer.byteLength(content),
});

const manifestOf = (layer: string, more: object = {}) =>
  JSON.stringify({
    schemaVersion: 2,
    mediaType: imageType,
    config: descriptor("application/vnd.oci.image.config.v1+json", "{}"),
    layers: [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", layer)],
    ...more,
  });

const putManifest = (image: string, reference: string, body: string, type = imageType) =>
  send("PUT", `${image}/manifests/${reference}`, { body, headers: { "content-type": type } });

/** An image with one layer; the digest of its manifest. */
async function pushImage(image: string, tag: string, layer: string, more: object = {}) {
  await push(image, "{}");
  await push(image, layer);
  const body = manifestOf(layer, more);
  const answer = await putManifest(image, tag, body);
  expect(answer.status, await answer.text()).to.equal(201);
  return digestOf(body);
}

const begun = async (image: string) => {
  const answer = await send("POST", `${image}/blobs/uploads/`);
  expect(answer.status).to.equal(202);
  return answer.headers.get("location") ?? "";
};

before(async () => {
  await at.local("images", "container", { isDeletePackageAllowed: true });
  await at.local("fixed", "container", { packageReuploadType: "NONE" });
  await at.local("open", "container", { hasAnonymousAccess: true });
  await bobs.local("images", "container");
});

describe("the registry of containers", () => {
  it("challenges a caller without credentials, whether or not there is such an image", async () => {
    const { host } = new URL(app.url);
    const realm = `Bearer realm="${app.url}/v2/token",service="${host}"`;
    for (const path of [`${images}/app/manifests/1`, "/v2/no/no/no/app/manifests/1"]) {
      const answer = await fetch(app.url + path);
      const name = path.slice("/v2/".length, -"/manifests/1".length);
      expect(answer.headers.get("www-authenticate")).to.equal(
        `${realm},scope="repository:${name}:pull"`,
      );
      expect(await codeOf(answer)).to.deep.equal([401, "UNAUTHORIZED"]);
    }
    expect((await fetch(`${app.url}/v2/`)).status).to.equal(401);
    expect((await send("GET", "/v2/")).status).to.equal(200);
  });

  it("gives a token for what is requested and allowed, and accepts it for that alone", async () => {
    await push(`${images}/tokens`, "a layer");
    const name = "anna/forge/images/tokens";
    const tokenFor = async (scope: string, as: TestUser) => {
      const answer = await send("GET", `/v2/token?scope=${encodeURIComponent(scope)}`, { as });
      return `Bearer ${((await answer.json()) as { token: string }).token}`;
    };
    const blob = `${images}/tokens/blobs/${digestOf("a layer")}`;
    const head = (authorization: string) => send("HEAD", blob, { headers: { authorization } });
    const pull = await tokenFor(`repository:${name}:pull`, anna);
    expect((await head(pull)).status).to.equal(200);
    const pushed = await send("POST", `${images}/tokens/blobs/uploads/`, {
      headers: { authorization: pull },
    });
    expect(pushed.status).to.equal(401);
    expect(pushed.headers.get("www-authenticate")).to.match(/error="insufficient_scope"$/);
    expect((await head(await tokenFor(`repository:${name}:pull`, bob))).status).to.equal(401);
    expect((await head(`${pull}x`)).status).to.equal(401);
    const other = await tokenFor(`repository:${name}-two:pull,push`, anna);
    expect((await head(other)).status).to.equal(401);
  });

  it("lets a token only read that was requested with a read-only token", async () => {
    await push(`${images}/ended`, "a layer");
    const token = await app.givenToken(anna.id, ["READ_REGISTRY"]);
    const scope = "repository:anna/forge/images/ended:pull,push";
    const answer = await send("GET", `/v2/token?scope=${encodeURIComponent(scope)}`, {
      as: { ...anna, token },
    });
    const authorization = `Bearer ${((await answer.json()) as { token: string }).token}`;
    const blob = `${images}/ended/blobs/${digestOf("a layer")}`;
    const headers = { authorization };
    expect((await send("HEAD", blob, { headers })).status).to.equal(200);
    const begin = await send("POST", `${images}/ended/blobs/uploads/`, { headers });
    expect(begin.status).to.equal(401);
  });

  it("is read without a token where the repository allows it, and never written", async () => {
    await pushImage("/v2/anna/forge/open/app", "1", "a layer");
    const answer = await fetch(
      `${app.url}/v2/token?scope=repository:anna/forge/open/app:pull,push`,
    );
    const { token } = (await answer.json()) as { token: string };
    const headers = { authorization: `Bearer ${token}` };
    const read = await fetch(`${app.url}/v2/anna/forge/open/app/manifests/1`, { headers });
    expect(read.status).to.equal(200);
    const manifest = "/v2/anna/forge/open/app/manifests/1";
    expect((await send("GET", manifest, { as: bob })).status, "to a stranger").to.equal(200);
    const path = "/v2/anna/forge/open/app/blobs/uploads/";
    expect((await send("POST", path, { as: bob })).status).to.equal(403);
    expect((await fetch(app.url + path, { method: "POST", headers })).status).to.equal(401);
  });

  it("keeps a manifest as its bytes came, by tag and by digest", async () => {
    const digest = await pushImage(`${images}/kept`, "1.0", "layer of kept");
    for (const reference of ["1.0", digest]) {
      const answer = await send("GET", `${images}/kept/manifests/${reference}`);
      expect(digestOf(await answer.text())).to.equal(digest);
      expect(answer.headers.get("docker-content-digest")).to.equal(digest);
      expect(answer.headers.get("content-type")).to.equal(imageType);
    }
    const blob = `${images}/kept/blobs/${digestOf("layer of kept")}`;
    const part = await send("GET", blob, { headers: { range: "bytes=6-7" } });
    expect([part.status, await part.text()]).to.deep.equal([206, "of"]);
  });

  it("refuses a manifest that names what the image does not have", async () => {
    const image = `${images}/missing`;
    await push(image, "{}");
    await push("/v2/bob/shed/images/secret", "layer of bob", bob);
    for (const layer of ["nowhere", "layer of bob"]) {
      const answer = await putManifest(image, "1", manifestOf(layer));
      expect(await codeOf(answer)).to.deep.equal([404, "MANIFEST_BLOB_UNKNOWN"]);
    }
    const nested = { manifests: [descriptor(imageType, manifestOf("nowhere"))] };
    const index = JSON.stringify({ schemaVersion: 2, mediaType: indexType, ...nested });
    const answer = await putManifest(image, "1", index, indexType);
    expect(await codeOf(answer)).to.deep.equal([404, "MANIFEST_BLOB_UNKNOWN"]);
    expect((await send("GET", `${image}/manifests/1`)).status).to.equal(404);
  });

  it("refuses malformed manifests, names, tags and digests", async () => {
    const image = `${images}/wrong`;
    await push(image, "{}");
    const good = manifestOf("{}");
    const wrong: [string, string, string][] = [
      ["1", "no json", imageType],
      ["1", JSON.stringify({ ...JSON.parse(good), schemaVersion: 1 }), imageType],
      ["1", JSON.stringify({ ...JSON.parse(good), manifests: [] }), imageType],
      ["1", good, indexType],
      ["1", good, "text/plain"],
      ["1", good.replace('"size":2', '"size":3'), imageType],
      ["-", good, imageType],
      [`sha256:${"0".repeat(64)}`, good, imageType],
      ["sha256:short", good, imageType],
    ];
    for (const [reference, body, type] of wrong) {
      const answer = await putManifest(image, reference, body, type);
      expect(answer.status, `${reference} ${body}`).to.equal(400);
    }
    const large = JSON.stringify({ ...JSON.parse(good), pad: "x".repeat(4 * 1024 ** 2) });
    expect((await putManifest(image, "1", large)).status).to.equal(413);
    for (const name of ["UP", "a..b", "-a"]) {
      const answer = await send("GET", `${images}/${name}/tags/list`);
      expect(await codeOf(answer), name).to.deep.equal([400, "NAME_INVALID"]);
    }
    const body = { type: "LOCAL", packageType: "container", repositoryName: "a..b" };
    const path = "/project/anna/forge/repositories";
    expect((await app.post(path, { token: anna.token, body })).status).to.equal(422);
  });

  it("lists tags in the order of their bytes, a part at a time", async () => {
    const image = `${images}/tags`;
    await push(image, "{}");
    for (const tag of ["b", "B", "a.1", "_x"]) {
      expect((await putManifest(image, tag, manifestOf("{}"))).status).to.equal(201);
    }
    const seen: string[] = [];
    let next: string | undefined = `${image}/tags/list?n=3`;
    while (next !== undefined) {
      const answer: Response = await send("GET", next);
      const { tags } = (await answer.json()) as { tags: string[] };
      seen.push(...tags);
      next = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1];
    }
    expect(seen).to.deep.equal(["B", "_x", "a.1", "b"]);
    const none = await send("GET", `${image}/tags/list?n=0`);
    expect([await none.json(), none.headers.get("link")]).to.deep.equal([
      { name: "anna/forge/images/tags", tags: [] },
      null,
    ]);
    expect((await send("GET", `${image}/tags/list?n=-1`)).status).to.equal(400);
    const unknown = await send("GET", `${images}/none/tags/list`);
    expect(await codeOf(unknown)).to.deep.equal([404, "NAME_UNKNOWN"]);
  });

  it("lists what is about a manifest, by its kind as well", async () => {
    const image = `${images}/subjects`;
    const digest = await pushImage(image, "1", "layer of subject");
    const subject = { mediaType: imageType, digest, size: manifestOf("layer of subject").length };
    const more = { artifactType: "application/sbom", subject, annotations: { of: "a test" } };
    const body = manifestOf("{}", more);
    const answer = await putManifest(image, digestOf(body), body);
    expect(answer.headers.get("oci-subject")).to.equal(digest);
    const list = async (query: string) => {
      const found = await send("GET", `${image}/referrers/${digest}${query}`);
      return ((await found.json()) as { manifests: object[] }).manifests;
    };
    const [one] = await list("?artifactType=application/sbom");
    expect(one).to.deep.equal({
      mediaType: imageType,
      digest: digestOf(body),
      size: body.length,
      artifactType: "application/sbom",
      annotations: { of: "a test" },
    });
    expect(await list("?artifactType=application/other")).to.deep.equal([]);
    expect(await list("")).to.have.length(1);
  });
});

describe("an upload of a container blob", () => {
  it("goes on where it was cut, never beyond what is stored", async () => {
    const image = `${images}/resumed`;
    const location = await begun(image);
    const first = await send("PATCH", location, {
      body: "first ",
      headers: { "content-range": "0-5" },
    });
    expect([first.status, first.headers.get("range")]).to.deep.equal([202, "0-5"]);
    await cutPatch(location, "sec", 6);
    const offset = async () => (await send("GET", location)).headers.get("range");
    expect(await offset()).to.equal("0-5");
    for (const range of ["5-10", "7-12", "0-5"]) {
      const body = "x".repeat(6);
      const wrong = await send("PATCH", location, { body, headers: { "content-range": range } });
      expect([wrong.status, wrong.headers.get("range")]).to.deep.equal([416, "0-5"]);
    }
    const second = await send("PATCH", location, { body: "second " });
    expect(second.headers.get("range")).to.equal("0-12");
    const digest = digestOf("first second third");
    const ended = await send("PUT", `${location}?digest=${digest}`, { body: "third" });
    expect([ended.status, ended.headers.get("docker-content-digest")]).to.deep.equal([201, digest]);
    expect(await (await send("GET", `${image}/blobs/${digest}`)).text()).to.equal(
      "first second third",
    );
    const again = await send("PUT", `${location}?digest=${digest}`);
    expect(again.status, "the answer may have been lost").to.equal(201);
    await eventually(async () => expect(await holds()).to.equal(0));
  });

  it("adds one of two chunks that come for the same place", async () => {
    const location = await begun(`${images}/raced`);
    const answers = await Promise.all(
      ["aaaa", "bbbb"].map((body) =>
        send("PATCH", location, { body, headers: { "content-range": "0-3" } }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, 416]);
    expect((await send("GET", location)).headers.get("range")).to.equal("0-3");
  });

  it("stores nothing under another digest", async () => {
    const image = `${images}/digests`;
    for (const digest of [digestOf("other"), `sha512:${"0".repeat(128)}`]) {
      const location = await begun(image);
      const wrong = await send("PUT", `${location}?digest=${digest}`, { body: "content" });
      expect(await codeOf(wrong)).to.deep.equal([400, "DIGEST_INVALID"]);
      expect((await send("HEAD", `${image}/blobs/${digest}`)).status).to.equal(404);
    }
    const unnamed = await send("PUT", `${await begun(image)}?digest=md5:abc`, { body: "content" });
    expect(await codeOf(unnamed)).to.deep.equal([400, "DIGEST_INVALID"]);
  });

  it("belongs to its image and its user, and can be canceled", async () => {
    const location = await begun(`${images}/own`);
    const elsewhere = location.replace("/own/", "/other/");
    expect((await send("GET", elsewhere)).status).to.equal(404);
    expect((await send("GET", location, { as: bob })).status).to.equal(403);
    expect((await send("DELETE", location)).status).to.equal(204);
    expect((await send("GET", location)).status).to.equal(404);
  });

  it("mounts only what the caller may read", async () => {
    const own = await push(`${images}/source`, "layer to mount");
    const secret = await push("/v2/bob/shed/images/secret", "layer of bob alone", bob);
    const mount = (digest: string, from: string) =>
      send("POST", `${images}/mounted/blobs/uploads/?mount=${digest}&from=${from}`);
    expect((await mount(own, "anna/forge/images/source")).status).to.equal(201);
    expect((await send("HEAD", `${images}/mounted/blobs/${own}`)).status).to.equal(200);
    for (const from of ["bob/shed/images/secret", "bob/shed/images/none", "x", "a/b/c/D"]) {
      expect((await mount(secret, from)).status, from).to.equal(202);
    }
    const unnamed = await send("POST", `${images}/mounted/blobs/uploads/?mount=${secret}`);
    expect(unnamed.status).to.equal(202);
    expect((await send("HEAD", `${images}/mounted/blobs/${secret}`)).status).to.equal(404);
    expect((await mount("sha256:no", "anna/forge/images/source")).status).to.equal(400);
  });
});

describe("deleting from the registry of containers", () => {
  it("takes away a tag alone, or a manifest with its tags", async () => {
    const image = `${images}/gone`;
    const digest = await pushImage(image, "1", "layer of gone");
    await putManifest(image, "2", manifestOf("layer of gone"));
    const tags = async () =>
      ((await (await send("GET", `${image}/tags/list`)).json()) as { tags: string[] }).tags;
    const blob = `${image}/blobs/${digestOf("layer of gone")}`;
    expect((await send("DELETE", blob)).status, "a manifest names it").to.equal(405);
    expect((await send("DELETE", `${image}/manifests/1`)).status).to.equal(202);
    expect(await tags()).to.deep.equal(["2"]);
    expect((await send("DELETE", `${image}/manifests/${digest}`)).status).to.equal(202);
    expect(await tags()).to.deep.equal([]);
    for (const reference of ["2", digest]) {
      expect((await send("GET", `${image}/manifests/${reference}`)).status).to.equal(404);
    }
    expect((await send("DELETE", `${image}/manifests/${digest}`)).status).to.equal(404);
    expect((await send("DELETE", blob)).status).to.equal(202);
    expect((await send("HEAD", blob)).status).to.equal(404);
    await pushImage(image, "2", "layer of gone");
    expect(await tags()).to.deep.equal(["2"]);
  });

  it("is refused where the repository does not allow it", async () => {
    const digest = await pushImage("/v2/anna/forge/fixed/app", "1", "a layer");
    for (const path of ["manifests/1", `manifests/${digest}`, `blobs/${digestOf("{}")}`]) {
      const answer = await send("DELETE", `/v2/anna/forge/fixed/app/${path}`);
      expect(await codeOf(answer)).to.deep.equal([405, "UNSUPPORTED"]);
    }
  });

  it("does not move a tag where nothing is overwritten", async () => {
    const image = "/v2/anna/forge/fixed/tagged";
    const digest = await pushImage(image, "1", "first layer");
    await push(image, "second layer");
    const moved = await putManifest(image, "1", manifestOf("second layer"));
    expect(await codeOf(moved)).to.deep.equal([409, "DENIED"]);
    const same = await putManifest(image, "1", manifestOf("first layer"));
    expect(same.status).to.equal(201);
    const { headers } = await send("HEAD", `${image}/manifests/1`);
    expect(headers.get("docker-content-digest")).to.equal(digest);
  });
});

const holds = async () => Number((await app.deps.db("public.blob_hold").count())[0]!["count"]);

/** Says that so many bytes come, and breaks off after a few. */
function cutPatch(location: string, sent: string, length: number): Promise<void> {
  return new Promise((resolve) => {
    const headers = { ...basic(anna), "content-length": String(length) };
    const request = httpRequest(app.url + location, { method: "PATCH", headers });
    request.once("error", () => undefined);
    request.once("close", resolve);
    request.write(sent, () => request.destroy());
  });
}
