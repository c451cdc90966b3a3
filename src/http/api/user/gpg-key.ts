import { z } from "zod";

import { addGpgKey, gpgKeys } from "../../../commands/user/change-gpg-key.ts";
import { deleteKey } from "../../../commands/user/key-fingerprint.ts";
import { GpgKeyId } from "../../../events/core/ids.ts";
import { gpgKeyLengthMax, parseGpgPublicKey } from "../../../git/signature/gpg-key.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  findGpgKey,
  type GpgKeyRow,
  gpgKeyProjection,
  listGpgKeys,
} from "../../../projections/user/gpg-key.ts";
import { commandDeps } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { instant, oneLine } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";

const GpgKeyView = z
  .object({
    uuid: z.uuid(),
    publicKey: z.string().meta({ description: "Armoured, without the signatures of others." }),
    title: z.string(),
    fingerprint: z.string(),
    subkeyFingerprints: z.array(z.string()),
    createdAt: instant(),
    userUuid: z.uuid(),
  })
  .meta({ id: "GpgKey" });

const NewGpgKey = z
  .object({
    publicKey: z
      .string()
      .trim()
      .min(1)
      .max(gpgKeyLengthMax)
      .meta({ description: "As `gpg --armor --export` prints." }),
    title: oneLine(255),
  })
  .meta({ id: "NewGpgKey" });

const own = { tag: "User settings", access: "user" } as const;

const postOwnGpgKey = route({
  ...own,
  method: "post",
  path: "/user/settings/gpg-key",
  operationId: "addOwnGpgKey",
  notForApplications: true,
  summary: "Add a GPG key that signs commits",
  scope: "USER_WRITE",
  body: NewGpgKey,
  reply: GpgKeyView,
  async handle({ body, request }, deps) {
    const { userId } = request;
    const keyId = GpgKeyId.parse(deterministicId(request.commandId, "gpg key"));
    const key = await parseGpgPublicKey(body.publicKey);
    const newKey = { keyId, userId, title: body.title, key, by: userId };
    await request.executeProcess((metadata) => addGpgKey(commandDeps(deps), newKey, metadata));
    return viewOf(await mustFind(userId, keyId, deps));
  },
});

const getOwnGpgKeys = route({
  ...own,
  method: "get",
  path: "/user/settings/gpg-key",
  operationId: "listOwnGpgKeys",
  summary: "List one's GPG keys",
  scope: "USER_READ",
  list: "gpgKeyList",
  asOf: { readModels: [gpgKeyProjection], account: "caller" },
  reply: GpgKeyView,
  handle: ({ page, request: { userId } }, { db }) =>
    listed(listGpgKeys(db, { userId, ...page }), viewOf),
});

const deleteOwnGpgKey = route({
  ...own,
  method: "delete",
  path: "/user/settings/gpg-key/{uuid}",
  operationId: "deleteOwnGpgKey",
  notForApplications: true,
  summary: "Delete a GPG key; what it signed counts as unverified from then on",
  scope: "USER_WRITE",
  params: z.object({ uuid: GpgKeyId }),
  reply: "empty",
  async handle({ params, request }, deps) {
    const { userId } = request;
    const { fingerprint } = await mustFind(userId, params.uuid, deps);
    const which = { userId, keyId: params.uuid, fingerprint, by: userId };
    await request.executeProcess((metadata) =>
      deleteKey(commandDeps(deps), gpgKeys, which, metadata),
    );
  },
});

async function mustFind(userId: string, keyId: string, { db }: Deps): Promise<GpgKeyRow> {
  const row = await findGpgKey(db, userId, keyId);
  if (row !== undefined) return row;
  throw new Refusal("not_found", "gpg_key.not_found", "GPG key not found.");
}

function viewOf(row: GpgKeyRow): z.input<typeof GpgKeyView> {
  return toView(GpgKeyView, row, {
    uuid: row.id,
    subkeyFingerprints: row.fingerprints.filter((each) => each !== row.fingerprint),
    userUuid: row.user_id,
  });
}

export const gpgKeyRoutes: readonly Route[] = [deleteOwnGpgKey, getOwnGpgKeys, postOwnGpgKey];
