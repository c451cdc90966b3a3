import { readdir } from "node:fs/promises";
import { request } from "node:http";
import path from "node:path";
import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import { eventually } from "../support/app/eventually.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

/**
 * Uploads that two parsers could read in two ways, that break off, or that claim another method: what
 * is not plainly a list of files adds nothing, and leaves nothing behind.
 */
const app = await startTestApp();
const anna = await app.givenUser("anna");
await app.givenProject(anna, "forge");
const { token } = anna;
let release: string;

before(async () => {
  const copy = await workingCopy(await temporaryDirectory(), "copy");
  await commit(copy, "First");
  const remote = `${app.url.replace("//", `//anna:${token}@`)}/project/anna/forge.git`;
  await git(copy, "push", "--quiet", remote, "main");
  const body = { title: "One", tagName: "v1" };
  const made = await app.post("/project/anna/forge/release", { token, body });
  release = `/project/anna/forge/release/${made.body["id"]}`;
});

const boundary = "frontier";
const multipart = `multipart/form-data; boundary=${boundary}`;
const part = (disposition: string, content = "x", more = "") =>
  `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n${content}\r\n`;
const end = `--${boundary}--\r\n`;
const file = (name: string, content?: string) => part(`name="files"; filename="${name}"`, content);

async function send(body: string, headers: Record<string, string> = {}, method = "POST") {
  const type = { "content-type": multipart };
  return app.send(method, `${release}/file`, { token, body, headers: { ...type, ...headers } });
}

const names = async () =>
  ((await app.get(release, { token })).body["attachmentFiles"] as { name: string }[] | null)?.map(
    ({ name }) => name,
  ) ?? [];

async function leavesNothing(sending: Promise<{ status: number; text: string }>, status: number) {
  const before = [await app.head(), await names()];
  const answer = await sending;
  expect(answer.status, answer.text).to.equal(status);
  expect([await app.head(), await names()]).to.deep.equal(before);
  const spooled = () => readdir(path.join(app.dataDir, "blobs", "temporary")).catch(() => []);
  await eventually(async () => (await spooled()).length === 0);
}

describe("a form of files", () => {
  for (const [what, body, status] of [
    ["that is empty", end, 422],
    ["that holds nothing at all", "", 400],
    ["that has no end", file("a").trimEnd(), 400],
    ["that ends within the head of a part", `--${boundary}\r\nContent-Disp`, 400],
    ["of another boundary", file("a").replaceAll(boundary, "other") + end, 422],
    ["with a file under another key", part('name="file"; filename="a"') + end, 422],
    ["with a second file under another key", file("a") + part('name="x"; filename="b"') + end, 422],
    ["with a field in the place of a file", part('name="files"', "text") + end, 422],
    ["with a part that has no name", part('filename="a"') + end, 422],
    ["with a part that is no form's", file("a").replace("form-data", "attachment") + end, 422],
    ["with a file that has no name", file("") + end, 422],
    ["with a file called ..", file("..") + end, 422],
    ["with a control character in a name", file("a\u0007b") + end, 422],
    ["with a very long name", file("x".repeat(256)) + end, 422],
    ["with a very long head", part(`name="files"; filename="${"x".repeat(20_000)}"`) + end, 422],
    ["with more files than one may send", file("a").repeat(51) + end, 422],
    ["with more fields than anybody sends", part('name="a"').repeat(100) + file("a") + end, 400],
  ] as const) {
    it(`${what} adds nothing`, async () => {
      await leavesNothing(send(body), status);
    });
  }

  for (const type of [
    "application/x-www-form-urlencoded",
    "multipart/mixed; boundary=frontier",
    "multipart/form-data",
    "multipart/form-data-x; boundary=frontier",
    "application/json",
    "text/plain; multipart/form-data; boundary=frontier",
  ]) {
    it(`called ${type} adds nothing`, async () => {
      await leavesNothing(send(file("a") + end, { "content-type": type }), 400);
    });
  }

  it("names files and never paths", async () => {
    for (const [directory, name] of [
      ["../../etc/", "passwd"],
      ["..\\\\..\\\\", "group"],
      ["/etc/", "shadow"],
      ["C:\\\\x\\\\", "hosts"],
    ] as const) {
      const answer = await send(file(directory + name) + end);
      expect(answer.status, answer.text).to.equal(200);
      expect((await names()).at(-1)).to.equal(name);
    }
  });

  it("is read in one way where it says a name in two", async () => {
    const twice = part(`name="files"; filename="a.txt"; filename*=UTF-8''b%2F..%2Fc.txt`);
    await send(twice + end);
    expect((await names()).at(-1)).to.be.oneOf(["a.txt", "c.txt"]);
  });

  it("is the content alone, whatever looks like an end in it", async () => {
    const content = `--other--\r\n\r\n-${boundary}--\r\n-- ${boundary}--\r\n--${boundary.slice(0, -1)}`;
    const answer = await send(file("tricky", content) + end);
    const files = answer.body["attachmentFiles"] as { uuid: string; name: string }[];
    const { uuid } = files.find(({ name }) => name === "tricky")!;
    const read = await app.get(`${release}/file/${uuid}`, { token });
    expect(read.text).to.equal(content);
  });

  it("that breaks off half-way adds nothing", async () => {
    const headAt = await app.head();
    const before = await names();
    const { hostname, port } = new URL(app.url);
    const sending = request({
      hostname,
      port,
      path: `${release}/file`,
      method: "POST",
      headers: { authorization: `token ${token}`, "content-type": multipart },
    });
    sending.on("error", () => undefined);
    sending.write(file("whole") + file("half", "y".repeat(200_000)).slice(0, 100_000));
    const spool = path.join(app.dataDir, "blobs", "temporary");
    await eventually(async () => (await readdir(spool).catch(() => [])).length > 0);
    sending.destroy();
    await eventually(async () => (await readdir(spool)).length === 0);
    expect(await names()).to.deep.equal(before);
    expect(await app.head()).to.equal(headAt);
  });

  it("keeps its method when a header names another", async () => {
    const before = await names();
    for (const name of ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"]) {
      const headers = { [name]: "DELETE", "content-type": "application/json" };
      const body = JSON.stringify(["5b1f4c1e-6a51-4c58-8f0e-0d4f6a1c2b3d"]);
      const posted = await app.post(`${release}/file`, { token, body, headers });
      expect(posted.status, posted.text).to.equal(400);
      const got = await app.get(release, { token, headers: { [name]: "DELETE" } });
      expect(got.status).to.equal(200);
    }
    const inPath = await app.post(`${release}?_method=DELETE`, { token, body: {} });
    expect(inPath.status).to.equal(405);
    expect(await names()).to.deep.equal(before);
  });
});
