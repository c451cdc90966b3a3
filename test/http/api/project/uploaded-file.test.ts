import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { referredBlobs } from "../../../../src/projections/git/blob-reference.ts";
import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { expectOk, type Json } from "../../../support/app/issue.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
const dora = await app.givenUser("dora");
await app.givenProject(anna, "forge");
await app.givenProject(anna, "other");
const invited = { token: anna.token, body: { userAlias: "boris", role: "GUEST" } };
expectOk(await app.post("/project/anna/forge/member/invite", invited));

const base = "/project/anna/forge/file";

function upload(name: string, content: string | Buffer, by: TestUser = boris, key = "file") {
  const form = new FormData();
  form.append(key, new Blob([content as never]), name);
  const headers = { authorization: `token ${by.token}` };
  return fetch(app.url + base, { method: "POST", body: form, headers });
}

async function uploaded(name: string, content: string): Promise<Json> {
  const answer = await upload(name, content);
  expect(answer.status).to.equal(200);
  return (await answer.json()) as Json;
}

const get = (path: unknown, by: TestUser = anna, headers = {}) =>
  app.get(String(path), { token: by.token, headers });

describe("a file uploaded for a text", () => {
  it("answers the documented fields and is downloaded by webFilePath", async () => {
    const file = await uploaded("Bild 1.html", "<script>alert(1)</script>");
    const { uploadFileUuid, webFilePath } = file;
    expect(file).to.include({
      fileName: "Bild 1.html",
      fileSize: "25",
      webFilePath: `${base}/${uploadFileUuid}/Bild%201.html`,
    });
    expect(String(file["filePath"])).to.match(/^[0-9a-f-]{36}\/[0-9a-f-]{36}\/Bild 1\.html$/);
    const answer = await get(webFilePath);
    expect([answer.status, answer.text]).to.deep.equal([200, "<script>alert(1)</script>"]);
    expect(answer.headers.get("content-type")).to.equal("application/octet-stream");
    expect(answer.headers.get("content-disposition")).to.match(/^attachment; /);
    expect(answer.headers.get("x-content-type-options")).to.equal("nosniff");
    const part = await get(webFilePath, boris, { range: "bytes=1-6" });
    expect([part.status, part.text]).to.deep.equal([206, "script"]);
  });

  it("has the rights of the project", async () => {
    const { webFilePath, uploadFileUuid } = await uploaded("a.txt", "a");
    expect(codeOf(await get(webFilePath, dora))).to.deep.equal([403, "auth.role_missing"]);
    expect((await app.get(String(webFilePath))).status).to.equal(403);
    expect((await upload("a.txt", "a", dora)).status).to.equal(403);
    for (const wrong of [
      `/project/anna/other/file/${uploadFileUuid}/a.txt`,
      `${base}/${uploadFileUuid}/b.txt`,
      `${base}/${uploadFileUuid}/..%2Fa.txt`,
      `${base}/${randomUUID()}/a.txt`,
      `${base}/x/a.txt`,
    ]) {
      expect((await get(wrong)).status, wrong).to.equal(404);
    }
  });

  it("is refused under another key and without a plain name, and nothing is recorded", async () => {
    const head = await app.head();
    expect((await upload("a.txt", "a", boris, "files")).status).to.equal(422);
    for (const name of ["..", `${"x".repeat(256)}`, "a\u0001b"]) {
      expect((await upload(name, "a")).status, name.slice(0, 9)).to.equal(422);
    }
    expect(await app.head()).to.equal(head);
  });

  it("is kept by content while a project refers to it", async () => {
    await uploaded("a.txt", "abc");
    const digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    expect(await referredBlobs(app.deps.db, [digest])).to.deep.equal(new Set([digest]));
  });

  it("may be empty, and is refused over 50 MiB", async () => {
    expect((await uploaded("empty", ""))["fileSize"]).to.equal("0");
    const answer = await upload("large", Buffer.alloc(50 * 1024 ** 2 + 1));
    expect(answer.status).to.equal(413);
  });
});
