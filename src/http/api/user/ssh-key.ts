import { z } from "zod";

import { addSshKey, sshKeys } from "../../../commands/user/change-ssh-key.ts";
import { deleteKey } from "../../../commands/user/key-fingerprint.ts";
import { SshKeyId, type UserId } from "../../../events/core/ids.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { sshKeyLengthMax } from "../../../platform/key/ssh-key.ts";
import { usesOf } from "../../../platform/last-used.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { Part } from "../../../projections/list/list-rows.ts";
import {
  findSshKey,
  listSshKeys,
  type SshKeyRow,
  sshKeyProjection,
} from "../../../projections/user/ssh-key.ts";
import { sshKeyUses } from "../../../projections/user/ssh-key-use.ts";
import { findUserNamed } from "../../../projections/user/user.ts";
import { commandDeps } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { Expiry, endOf, mustBeAhead } from "../../core/expiry.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { instant, oneLine } from "../../core/schema.ts";
import { mustBeFound } from "./user.ts";

const SshKeyView = z
  .object({
    uuid: z.uuid(),
    publicKey: z.string(),
    title: z.string(),
    expiresAt: instant().nullable(),
    userUuid: z.uuid(),
    lastUsedAt: instant().nullable().meta({ description: "To the minute; null: not yet." }),
  })
  .meta({ id: "SshKey" });

export const NewSshKey = z
  .object({
    publicKey: z.string().trim().min(1).max(sshKeyLengthMax),
    title: oneLine(255),
    expiresAt: Expiry.meta({ description: "Empty: without a time limit." }),
  })
  .meta({ id: "NewSshKey" });

const list = "userPublicSshKeyModelList";

const own = { tag: "User settings", access: "user" } as const;

const postOwnSshKey = route({
  ...own,
  method: "post",
  path: "/user/settings/add-ssh-key",
  operationId: "addOwnSshKey",
  notForApplications: true,
  summary: "Add an SSH key",
  scope: "USER_WRITE",
  body: NewSshKey,
  reply: SshKeyView,
  errors: [404],
  handle: ({ body, request }, deps) => addKey(request.userId, body, request, deps),
});

const getOwnSshKeys = route({
  ...own,
  method: "get",
  path: "/user/settings/ssh-key",
  operationId: "listOwnSshKeys",
  summary: "List one's SSH keys",
  scope: "USER_READ",
  list,
  asOf: { readModels: [sshKeyProjection], account: "caller" },
  reply: SshKeyView,
  handle: ({ page, request }, deps) => listedKeys(request.userId, page, deps),
});

const deleteOwnSshKey = route({
  ...own,
  method: "delete",
  path: "/user/settings/ssh-key/{uuid}",
  operationId: "deleteOwnSshKey",
  notForApplications: true,
  summary: "Delete an SSH key",
  scope: "USER_WRITE",
  params: z.object({ uuid: SshKeyId }),
  reply: "empty",
  handle: ({ params, request }, deps) => removeKey(request.userId, params.uuid, request, deps),
});

const admin = { tag: "Administration", scope: "USER_WRITE", access: "admin" } as const;
const ofNamed = { readModels: [sshKeyProjection], account: { param: "userAlias" } } as const;

const postUserSshKey = route({
  ...admin,
  method: "post",
  path: "/admin/user/{userAlias}/key/create",
  operationId: "addUserSshKey",
  notForApplications: true,
  summary: "Add an SSH key to a user",
  body: NewSshKey,
  reply: SshKeyView,
  handle: async ({ params, body, request }, deps) =>
    addKey(await idOf(params.userAlias, deps), body, request, deps),
});

const getUserSshKeys = route({
  ...admin,
  method: "get",
  path: "/admin/user/{userAlias}/key",
  operationId: "listUserSshKeys",
  summary: "List a user's SSH keys",
  list,
  asOf: ofNamed,
  reply: SshKeyView,
  handle: async ({ params, page }, deps) =>
    listedKeys(await idOf(params.userAlias, deps), page, deps),
});

const getUserSshKey = route({
  ...admin,
  method: "get",
  path: "/admin/user/{userAlias}/key/{keyUuid}",
  operationId: "getUserSshKey",
  summary: "Get an SSH key of a user",
  asOf: ofNamed,
  reply: SshKeyView,
  handle: async ({ params }, deps) =>
    findView(await mustFind(await idOf(params.userAlias, deps), params.keyUuid, deps), deps),
});

const deleteUserSshKey = route({
  ...admin,
  method: "delete",
  path: "/admin/user/{userAlias}/key/delete/{keyUuid}",
  operationId: "deleteUserSshKey",
  notForApplications: true,
  summary: "Delete an SSH key of a user",
  reply: "empty",
  handle: async ({ params, request }, deps) =>
    removeKey(await idOf(params.userAlias, deps), params.keyUuid, request, deps),
});

async function idOf(alias: string, { db }: Deps): Promise<UserId> {
  return mustBeFound(await findUserNamed(db, alias)).id;
}

export async function addKey(
  userId: UserId,
  body: z.output<typeof NewSshKey>,
  request: RequestFor<"user">,
  deps: Deps,
): Promise<z.input<typeof SshKeyView>> {
  const expiresAt = endOf(body.expiresAt);
  mustBeAhead(expiresAt, deps.now(), "ssh_key.expiry_past");
  const keyId = SshKeyId.parse(deterministicId(request.commandId, "ssh key"));
  const { title, publicKey } = body;
  const newKey = { keyId, userId, title, publicKey, expiresAt, by: request.userId };
  await request.executeProcess((metadata) => addSshKey(commandDeps(deps), newKey, metadata));
  return findView(await mustFind(userId, keyId, deps), deps);
}

export async function listedKeys(userId: UserId, page: Part, { db }: Deps) {
  const { rows, total } = await listSshKeys(db, { userId, ...page });
  const uses = await usesOf(
    db,
    sshKeyUses,
    rows.map(({ id }) => id),
  );
  return { items: rows.map((row) => viewOf(row, uses)), totalElements: total };
}

export async function removeKey(
  userId: UserId,
  keyId: SshKeyId,
  request: RequestFor<"user">,
  deps: Deps,
): Promise<void> {
  const { fingerprint } = await mustFind(userId, keyId, deps);
  const which = { userId, keyId, fingerprint, by: request.userId };
  await request.executeProcess((metadata) =>
    deleteKey(commandDeps(deps), sshKeys, which, metadata),
  );
}

async function mustFind(userId: UserId, keyId: SshKeyId, { db }: Deps): Promise<SshKeyRow> {
  const row = await findSshKey(db, userId, keyId);
  if (row !== undefined) return row;
  throw new Refusal("not_found", "ssh_key.not_found", "SSH key not found.");
}

async function findView(row: SshKeyRow, { db }: Deps): Promise<z.input<typeof SshKeyView>> {
  return viewOf(row, await usesOf(db, sshKeyUses, [row.id]));
}

function viewOf(row: SshKeyRow, uses: ReadonlyMap<string, Date>): z.input<typeof SshKeyView> {
  return {
    uuid: row.id,
    publicKey: row.public_key,
    title: row.title,
    expiresAt: row.expires_at,
    userUuid: row.user_id,
    lastUsedAt: uses.get(row.id) ?? null,
  };
}

export const sshKeyRoutes: readonly Route[] = [
  deleteOwnSshKey,
  deleteUserSshKey,
  getOwnSshKeys,
  getUserSshKey,
  getUserSshKeys,
  postOwnSshKey,
  postUserSshKey,
];
