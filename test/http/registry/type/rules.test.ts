import { expect } from "chai";

import { nativeRegistry } from "../../../support/client/native-registry.ts";
import { type PackageUpload, packageUploads } from "../../../support/package/package-upload.ts";

const { app, at, anna, baseOf, get, send, bytes } = await nativeRegistry();
const bob = await app.givenUser("bob");
const [ours, theirs] = [packageUploads("ours"), packageUploads("theirs")];
const place = "/project/anna/forge/repositories";
const { token } = anna;
const reader = await app.givenToken(anna.id, ["READ_REGISTRY"]);

const sent = async (base: string, { method, path, type, body }: PackageUpload, as?: string) => {
  const authorization = as === undefined ? {} : { authorization: `Bearer ${as}` };
  return await send(method, `${base}/${path}`, body, { "content-type": type, ...authorization });
};
const listed = async (path: string): Promise<readonly { id: string }[]> => {
  const { body } = await app.get(`${place}/${path}`, { token });
  return Object.values((body["_embedded"] ?? {}) as Record<string, { id: string }[]>)[0] ?? [];
};

/** What a repository does whatever the type of its packages is: images have tests of their own. */
describe("a repository of each type", () => {
  for (const [type, upload] of Object.entries(ours)) {
    const other = theirs[type] as PackageUpload;
    const base = baseOf(type);
    const read = async (path: string, as?: string) => {
      const headers = as === undefined ? {} : { authorization: `Bearer ${as}` };
      return (await fetch(`${base}/${path}`, { headers })).status;
    };

    it(`holds rights, settings and the trash against what comes: ${type}`, async () => {
      const { repositoryUuid: id } = await at.local(type, type, { packageReuploadType: "NONE" });
      await at.virtual(`all-${type}`, type, { includedRepositoryUuids: [id] });
      expect((await sent(baseOf(`all-${type}`), upload, token)).status, "virtual").to.equal(405);
      for (const [as, status] of [
        [undefined, 401],
        [bob.token, 403],
        [reader, 403],
      ] as const) {
        expect((await sent(base, upload, as)).status).to.equal(status);
      }
      const raced = await Promise.all([upload, other].map((each) => sent(base, each, token)));
      const [first, second] = raced.map(({ status }) => status) as [number, number];
      expect([Math.min(first, second), Math.max(first, second)], "one wins").to.satisfy(
        ([won, lost]: number[]) => (won === 200 || won === 201) && lost === 409,
      );
      const [winner, loser] = first === 409 ? [other, upload] : [upload, other];
      expect((await bytes(`${base}/${upload.file}`)).equals(winner.content)).to.equal(true);
      expect((await sent(base, loser, token)).status, "no overwriting").to.equal(409);
      expect((await get(`${baseOf(`all-${type}`)}/${upload.file}`)).status).to.equal(200);
      for (const path of [upload.file, upload.index]) {
        expect([await read(path), await read(path, bob.token)], path).to.deep.equal([401, 403]);
      }
      await at.change(id, { type: "LOCAL", settings: { hasAnonymousAccess: true } });
      for (const path of [upload.file, upload.index]) {
        expect([await read(path), await read(path, bob.token)], path).to.deep.equal([200, 200]);
      }
      await isRestored({ id, base, upload: winner });
    });
  }

  type Stored = Readonly<{ id: string; base: string; upload: PackageUpload }>;

  async function isRestored({ id, base, upload }: Stored): Promise<void> {
    const [found] = await listed(`${id}/package`);
    const [version] = await listed(`${id}/package/${found?.id}/version`);
    const path = `${place}/${id}/package/${found?.id}/version/${version?.id}`;
    expect((await app.delete(path, { token })).status, "not allowed").to.equal(403);
    await at.change(id, { type: "LOCAL", settings: { isDeletePackageAllowed: true } });
    expect((await app.delete(path, { token: reader })).status, "read-only").to.equal(403);
    expect((await app.delete(path, { token })).status).to.equal(204);
    expect((await get(`${base}/${upload.file}`)).status).to.equal(404);
    expect((await sent(base, upload, token)).status, "it is in the trash").to.equal(409);
    const trash = await listed(`${id}/trash`);
    expect(trash.map((each) => each.id)).to.deep.equal([version?.id]);
    const restored = `${place}/${id}/trash/${version?.id}/restore`;
    expect((await app.post(restored, { token })).status).to.equal(200);
    expect((await bytes(`${base}/${upload.file}`)).equals(upload.content)).to.equal(true);
    expect((await app.post(restored, { token })).status, "once").to.equal(404);
  }
});
