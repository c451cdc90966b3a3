import { expect } from "chai";

import type { Extent } from "../access/sample.ts";
import { nativeRegistry } from "../client/native-registry.ts";
import { type PackageUpload, packageUploads } from "./package-upload.ts";

/** One that takes any file, one whose files are read, and one that is sent as JSON. */
const sampled = ["generic", "maven", "npm"];

const place = "/project/anna/forge/repositories";

async function registryOfTypes() {
  const registry = await nativeRegistry();
  const { app, anna, send } = registry;
  const { token } = anna;
  return {
    ...registry,
    token,
    bob: await app.givenUser("bob"),
    reader: await app.givenToken(anna.id, ["READ_REGISTRY"]),
    async sent(base: string, { method, path, type, body }: PackageUpload, as?: string) {
      const authorization = as === undefined ? {} : { authorization: `Bearer ${as}` };
      const headers = { "content-type": type, ...authorization };
      return await send(method, `${base}/${path}`, body, headers);
    },
    async read(url: string, as?: string): Promise<number> {
      const headers = as === undefined ? {} : { authorization: `Bearer ${as}` };
      return (await fetch(url, { headers })).status;
    },
    async listed(path: string): Promise<readonly { id: string }[]> {
      const { body } = await app.get(`${place}/${path}`, { token });
      return Object.values((body["_embedded"] ?? {}) as Record<string, { id: string }[]>)[0] ?? [];
    },
  };
}

type Registry = Awaited<ReturnType<typeof registryOfTypes>>;
type Stored = Readonly<{ id: string; base: string; upload: PackageUpload }>;

/**
 * Declares what a repository does whatever the type of its packages is: images have tests of their own. Only some
 * types are tried in a sample, and deleting and restoring of one. Call it with `await` at the top of a file.
 */
export async function typeRules(extent: Extent): Promise<void> {
  const registry = await registryOfTypes();
  const [ours, theirs] = [packageUploads("ours"), packageUploads("theirs")];

  describe("a repository of each type", () => {
    for (const [type, upload] of Object.entries(ours)) {
      if (extent === "sample" && !sampled.includes(type)) continue;
      const other = theirs[type] as PackageUpload;

      it(`holds rights, settings and the trash against what comes: ${type}`, async () => {
        const stored = await heldAgainst(registry, type, [upload, other]);
        if (extent === "whole" || type === "generic") await isRestored(registry, stored);
      });
    }
  });
}

async function heldAgainst(
  registry: Registry,
  type: string,
  [upload, other]: readonly [PackageUpload, PackageUpload],
): Promise<Stored> {
  const { at, bob, baseOf, get, bytes, token, reader, sent, read } = registry;
  const base = baseOf(type);
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
    expect(
      [await read(`${base}/${path}`), await read(`${base}/${path}`, bob.token)],
      path,
    ).to.deep.equal([401, 403]);
  }
  await at.change(id, { type: "LOCAL", settings: { hasAnonymousAccess: true } });
  for (const path of [upload.file, upload.index]) {
    expect(
      [await read(`${base}/${path}`), await read(`${base}/${path}`, bob.token)],
      path,
    ).to.deep.equal([200, 200]);
  }
  return { id, base, upload: winner };
}

async function isRestored(registry: Registry, { id, base, upload }: Stored): Promise<void> {
  const { app, at, get, bytes, token, reader, sent, listed } = registry;
  const [found] = await listed(`${id}/package`);
  const [version] = await listed(`${id}/package/${found?.id}/version`);
  const path = `${place}/${id}/package/${found?.id}/version/${version?.id}`;
  expect((await app.delete(path, { token })).status, "not allowed").to.equal(405);
  await at.change(id, { type: "LOCAL", settings: { isDeletePackageAllowed: true } });
  expect((await app.delete(path, { token: reader })).status, "read-only").to.equal(403);
  expect((await app.delete(path, { token })).status).to.equal(204);
  expect((await get(`${base}/${upload.file}`)).status).to.equal(404);
  expect((await sent(base, upload, token)).status, "it is in the trash").to.equal(409);
  const trash = await listed(`${id}/trash`);
  expect(trash.map((each) => each.id)).to.deep.equal([version?.id]);
  const again = `${place}/${id}/trash/${version?.id}/restore`;
  expect((await app.post(again, { token })).status).to.equal(200);
  expect((await bytes(`${base}/${upload.file}`)).equals(upload.content)).to.equal(true);
  expect((await app.post(again, { token })).status, "once").to.equal(404);
}
