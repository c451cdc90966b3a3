import { createHash, randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../../support/git/git.ts";

const app = await startTestApp();
const parent = await temporaryDirectory();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
const root = await app.givenUser("root", { admin: true });
await app.givenProject(anna, "open", { private: false });
await app.givenProject(anna, "hidden");
const { token } = anna;

before(async () => {
  const copy = await workingCopy(parent, "copy");
  await commit(copy, "First");
  for (const name of ["open", "hidden"]) {
    const remote = `${app.url.replace("//", `//anna:${token}@`)}/project/anna/${name}.git`;
    await git(copy, "push", "--quiet", remote, "main");
  }
});

type FileView = Readonly<{ uuid: string; name: string; size: number; link: string }> &
  Readonly<Record<string, unknown>>;
type Parts = readonly (readonly [key: string, name: string, content: Uint8Array | string])[];

let serial = 0;
async function release(project = "open"): Promise<string> {
  serial += 1;
  const body = { title: "One", tagName: `v${serial}` };
  const answer = await app.post(`/project/anna/${project}/release`, { token, body });
  expect(answer.status, answer.text).to.equal(200);
  return `/project/anna/${project}/release/${answer.body["id"]}`;
}

async function upload(to: string, parts: Parts, as = token) {
  const form = new FormData();
  for (const [key, name, content] of parts) form.append(key, new Blob([content as string]), name);
  const headers = { authorization: `token ${as}` };
  const response = await fetch(`${app.url}${to}/file`, { method: "POST", headers, body: form });
  const body = (await response.json()) as { attachmentFiles: FileView[]; code?: string };
  return { status: response.status, body };
}

async function uploaded(to: string, parts: Parts): Promise<readonly FileView[]> {
  const { status, body } = await upload(to, parts);
  expect(status, JSON.stringify(body)).to.equal(200);
  return body.attachmentFiles;
}

const get = (at: string, headers: Record<string, string> = {}, as: string | undefined = token) =>
  fetch(app.url + at, {
    headers: { ...(as === undefined ? {} : { authorization: `token ${as}` }), ...headers },
  });
const link = (of: string, { uuid }: FileView) => `${of}/file/${uuid}`;
const spooled = () => readdir(path.join(app.dataDir, "blobs", "temporary")).catch(() => []);
const held = async () => Number((await app.deps.db("public.blob_hold").count())[0]!["count"]);

describe("adding files to a release", () => {
  it("stores all of them with four digests, and shows them in their order", async () => {
    const to = await release();
    const content = randomBytes(700_000);
    const files = await uploaded(to, [
      ["files", "forge.bin", content],
      ["files", "naïve – \u{1f4a9} file's (1).txt", "hello"],
      ["files", "empty", ""],
      ["files", 'a "quoted" 100%.txt', "hello"],
    ]);
    expect(files.map(({ name, size }) => [name, size])).to.deep.equal([
      ["forge.bin", content.length],
      ["naïve – \u{1f4a9} file's (1).txt", 5],
      ["empty", 0],
      ['a "quoted" 100%.txt', 5],
    ]);
    const digest = (name: string) => createHash(name).update(content).digest("hex");
    expect(files[0]).to.include({
      hashMd5: digest("md5"),
      hashSha1: digest("sha1"),
      hashSha256: digest("sha256"),
      hashSha512: digest("sha512"),
      link: `${app.url}${to}/file/${files[0]!.uuid}`,
    });
    const more = await uploaded(to, [["files", "later", "x"]]);
    expect(more.map(({ name }) => name).at(-1)).to.equal("later");
    expect((await app.get(to, { token })).body["attachmentFiles"]).to.deep.equal(more);
    expect(await held(), "held").to.equal(0);
    expect(await spooled()).to.deep.equal([]);
  });

  it("adds none when one of them is over the limit, and keeps nothing", async () => {
    const to = await release();
    const head = await app.head();
    const small = randomBytes(1_000);
    const { status, body } = await upload(to, [
      ["files", "small", small],
      ["files", "large", Buffer.alloc(app.deps.config.releaseFileBytesMax + 1)],
    ]);
    expect([status, body.code]).to.deep.equal([413, "blob.too_large"]);
    expect(await app.head()).to.equal(head);
    expect(await held(), "held").to.equal(0);
    expect(await spooled()).to.deep.equal([]);
  });

  it("says that the content type is another one", async () => {
    const { status, body } = await app.post(`${await release()}/file`, { token, body: {} });
    const detail = "The body must be multipart/form-data; its content type is another one.";
    expect([status, body["detail"]]).to.deep.equal([400, detail]);
  });

  it("is for those who may push, and only within the release's project", async () => {
    const to = await release();
    expect((await upload(to, [["files", "x", "x"]], boris.token)).status).to.equal(403);
    const foreign = to.replace("/open/", "/hidden/");
    const { status, body } = await upload(foreign, [["files", "x", "x"]]);
    expect([status, body.code]).to.deep.equal([404, "release.not_found"]);
  });
});

describe("downloading a file of a release", () => {
  const content = randomBytes(100_000);
  let to: string;
  let file: FileView;
  before(async () => {
    to = await release();
    [file] = (await uploaded(to, [["files", "a 'b'; c=d%.html", content]])) as [FileView];
  });

  it("answers bytes that no browser shows or guesses at", async () => {
    const answer = await get(link(to, file));
    expect(Buffer.from(await answer.arrayBuffer())).to.deep.equal(content);
    const header = (name: string) => answer.headers.get(name);
    expect(header("content-type")).to.equal("application/octet-stream");
    expect(header("content-disposition")).to.equal(
      `attachment; filename="a 'b'; c=d_.html"; filename*=UTF-8''a%20%27b%27%3B%20c%3Dd%25.html`,
    );
    expect(header("x-content-type-options")).to.equal("nosniff");
    expect(header("content-length")).to.equal("100000");
    expect(header("accept-ranges")).to.equal("bytes");
    expect(header("etag")).to.equal(`"${file["hashSha256"]}"`);
  });

  it("answers parts, and nothing to who has it already", async () => {
    const etag = `"${file["hashSha256"]}"`;
    for (const [range, first, last] of [
      ["bytes=0-9", 0, 9],
      ["bytes=99990-", 99_990, 99_999],
      ["bytes=-5", 99_995, 99_999],
    ] as const) {
      const answer = await get(link(to, file), { range, "if-range": etag });
      expect(answer.status).to.equal(206);
      expect(answer.headers.get("content-range")).to.equal(`bytes ${first}-${last}/100000`);
      const bytes = Buffer.from(await answer.arrayBuffer());
      expect(bytes).to.deep.equal(content.subarray(first, last + 1));
    }
    expect((await get(link(to, file), { range: "bytes=100000-" })).status).to.equal(416);
    const other = await get(link(to, file), { range: "bytes=0-9", "if-range": '"other"' });
    expect(other.status).to.equal(200);
    expect((await get(link(to, file), { "if-none-match": etag })).status).to.equal(304);
  });

  it("is there by its release and its project alone", async () => {
    const other = await release();
    expect((await get(link(other, file))).status).to.equal(404);
    expect((await get(link(to.replace("/open/", "/hidden/"), file))).status).to.equal(404);
  });

  it("is open to everybody in a public project, while the setting is on", async () => {
    expect((await get(link(to, file), {}, undefined as never)).status).to.equal(200);
    const anonymous = await fetch(app.url + link(to, file));
    expect(anonymous.status).to.equal(200);
    const wrong = await fetch(app.url + link(to, file), { headers: { authorization: "token x" } });
    expect(wrong.status, "a wrong token").to.equal(403);

    const set = (downloadReleaseFromAnonUserIsEnabled: boolean) =>
      app.post("/admin/settings/files", {
        token: root.token,
        body: { downloadReleaseFromAnonUserIsEnabled },
      });
    expect((await set(false)).status).to.equal(200);
    const refused = await fetch(app.url + link(to, file));
    expect([refused.status, ((await refused.json()) as FileView)["code"]]).to.deep.equal([
      403,
      "auth.token_invalid",
    ]);
    expect((await get(link(to, file), {}, boris.token)).status, "with a token").to.equal(200);
    await set(true);
  });

  it("is closed to everybody else in a private project, found or not", async () => {
    const hidden = await release("hidden");
    const [secret] = (await uploaded(hidden, [["files", "s", "secret"]])) as [FileView];
    for (const at of [link(hidden, secret), link(to.replace("/open/", "/nowhere/"), file)]) {
      const anonymous = await fetch(app.url + at);
      const { code } = (await anonymous.json()) as FileView;
      expect([anonymous.status, code]).to.deep.equal([403, "auth.token_invalid"]);
    }
    expect((await get(link(hidden, secret), {}, boris.token)).status).to.equal(403);
    expect((await get(link(hidden, secret))).status).to.equal(200);
  });
});

describe("deleting files of a release", () => {
  it("deletes all that are named, or none", async () => {
    const to = await release();
    const files = await uploaded(to, [
      ["files", "a", "a"],
      ["files", "b", "b"],
      ["files", "c", "c"],
    ]);
    const [a, b, c] = files.map(({ uuid }) => uuid);
    const remove = (body: unknown) => app.send("DELETE", `${to}/file`, { token, body });
    const foreign = await uploaded(await release(), [["files", "d", "d"]]);
    const some = await remove([a, foreign[0]!.uuid]);
    expect([some.status, some.body["code"]]).to.deep.equal([404, "release_file.not_found"]);
    const many = Array.from({ length: 1_001 }, () => a);
    for (const body of [[], ["x"], {}, [a, 5], many]) {
      expect((await remove(body)).status, JSON.stringify(body).slice(0, 50)).to.equal(422);
    }
    const left = await remove([a, c, a]);
    expect((left.body["attachmentFiles"] as FileView[]).map(({ uuid }) => uuid)).to.deep.equal([b]);
    expect((await get(link(to, files[0]!))).status).to.equal(404);
    expect((await remove([b])).body["attachmentFiles"]).to.equal(null);
    expect((await remove([b])).status, "again").to.equal(200);
  });

  it("goes with the release", async () => {
    const to = await release();
    const [file] = (await uploaded(to, [["files", "a", "a"]])) as [FileView];
    await app.delete(to, { token });
    expect((await get(link(to, file))).status).to.equal(404);
  });
});
