import { expect } from "chai";

import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";

type File = Readonly<{ uploadFileUuid: string; countsFor: string; uploadedById: string }>;

const app = await startTestApp({ workers: true, config: { userBytesMax: 2_000_000 } });
const at = "/project/anna/open";
let anna: TestUser;
let boris: TestUser;
let root: TestUser;
let id: string;

async function upload(
  by: TestUser,
  bytes: number,
): Promise<Readonly<{ status: number; id: string }>> {
  const body = new FormData();
  body.append("file", new Blob([Buffer.alloc(bytes, "a")]), "a.bin");
  const headers = { authorization: `token ${by.token}` };
  const answer = await fetch(`${app.url}${at}/file`, { method: "POST", headers, body });
  const { uploadFileUuid } = (await answer.json()) as { uploadFileUuid: string };
  return { status: answer.status, id: uploadFileUuid };
}

async function filesOf(by: TestUser): Promise<readonly File[]> {
  const answer = await app.get(`${at}/file?size=100`, { token: by.token });
  expect(answer.status, answer.text).to.equal(200);
  return (
    (answer.body["_embedded"] as { uploadFileList?: File[] } | undefined)?.uploadFileList ?? []
  );
}

const remove = (by: TestUser, file: string) =>
  app.delete(`${at}/file/${file}`, { token: by.token });
const used = async () => Number((await app.get(at, { token: anna.token })).body["usedBytes"]);
const ofBoris = () => app.get(`/admin/user/${boris.id}/quota`, { token: root.token });

before(async () => {
  anna = await app.givenUser("anna");
  boris = await app.givenUser("boris");
  root = await app.givenUser("root", { admin: true });
  ({ id } = await app.givenProject(anna, "open", { private: false }));
  const limit = { token: root.token, body: { allowedBytes: 1_000_000 } };
  await app.put(`/admin/project/${id}/quota`, limit);
});

describe("a file that a user uploads to a project of others", () => {
  it("counts for who uploaded it, not for the project", async () => {
    const codes = await Promise.all(
      Array.from({ length: 4 }, async () => (await upload(boris, 1_500_000)).status),
    );
    expect(codes.sort()).to.deep.equal([200, 413, 413, 413]);
    expect((await upload(anna, 600_000)).status).to.equal(200);
    await eventually(async () => (await used()) >= 600_000);
    expect(await used()).to.be.below(1_000_000);
    expect((await ofBoris()).body).to.deep.equal({
      userId: boris.id,
      allowedBytes: 2_000_000,
      ownBytes: null,
      usedBytes: 1_500_000,
    });
  });

  it("is listed for ADMINs, and for others only where it is their own", async () => {
    const all = await filesOf(anna);
    expect(all.map(({ countsFor }) => countsFor).sort()).to.deep.equal(["PROJECT", "UPLOADER"]);
    expect((await filesOf(boris)).map(({ uploadedById }) => uploadedById)).to.deep.equal([
      boris.id,
    ]);
  });

  it("is deleted by who uploaded it or an ADMIN, by nobody else, and leaves its room", async () => {
    const [first] = await filesOf(boris);
    const anothers = (await filesOf(anna)).find(({ countsFor }) => countsFor === "PROJECT")!;
    expect((await remove(boris, anothers.uploadFileUuid)).status).to.equal(403);
    expect((await remove(anna, first!.uploadFileUuid)).status).to.equal(200);
    expect((await remove(anna, first!.uploadFileUuid)).status).to.equal(404);
    expect((await ofBoris()).body).to.include({ usedBytes: 0 });
    const own = await upload(boris, 1_500_000);
    expect(own.status).to.equal(200);
    expect((await remove(boris, own.id)).status).to.equal(200);
    expect((await remove(anna, anothers.uploadFileUuid)).status).to.equal(200);
    await eventually(async () => (await used()) < 600_000);
  });

  it("is found in its own project only", async () => {
    await app.givenProject(boris, "own");
    const { id: file } = await upload(boris, 10);
    const elsewhere = await app.delete(`/project/boris/own/file/${file}`, { token: boris.token });
    expect(elsewhere.status).to.equal(404);
  });

  it("is bounded by the quota that an administrator sets for the user", async () => {
    const set = (allowedBytes: number | null) =>
      app.put(`/admin/user/${boris.id}/quota`, { token: root.token, body: { allowedBytes } });
    expect((await set(100)).body).to.include({ allowedBytes: 100, ownBytes: 100 });
    expect((await upload(boris, 200)).status).to.equal(413);
    expect((await set(null)).body).to.include({ allowedBytes: 2_000_000, ownBytes: null });
    expect((await upload(boris, 200)).status).to.equal(200);
    const byAnna = { token: anna.token, body: { allowedBytes: null } };
    expect((await app.put(`/admin/user/${boris.id}/quota`, byAnna)).status).to.equal(403);
  });
});
