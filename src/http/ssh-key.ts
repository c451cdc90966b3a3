import { z } from "zod";

import { addSshKey, deleteSshKey } from "../commands/process/ssh-key.ts";
import { SshKeyId, type UserId } from "../events/ids.ts";
import { deterministicId } from "../platform/deterministic-id.ts";
import { Refusal } from "../platform/refusal.ts";
import { usesOf } from "../platform/use-note.ts";
import { findSshKey, listSshKeys, type SshKeyRow } from "../projections/ssh-key.ts";
import { sshKeyUses } from "../projections/ssh-key-use.ts";
import { findUser } from "../projections/user.ts";
import { commandDeps } from "./command-deps.ts";
import type { Deps } from "./deps.ts";
import { Expiry, endOf, mustBeAhead } from "./expiry.ts";
import type { PageRequest } from "./page.ts";
import type { RequestFor } from "./request.ts";
import { route } from "./route.ts";
import { instant } from "./schema.ts";
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

const NewSshKey = z
  .object({
    publicKey: z.string().trim().min(1),
    title: z.string().trim().min(1).max(255),
    expiresAt: Expiry.meta({ description: "Empty: without a time limit." }),
  })
  .meta({ id: "NewSshKey" });

const list = "userPublicSshKeyModelList";

const own = { tag: "User settings", access: "user" } as const;
const ownParams = z.object({ uuid: SshKeyId });

export const postOwnSshKey = route({
  ...own,
  method: "post",
  path: "/user/settings/add-ssh-key",
  operationId: "addOwnSshKey",
  summary: "Add an SSH key",
  scope: "USER_WRITE",
  body: NewSshKey,
  reply: SshKeyView,
  errors: [403, 404, 422],
  handle: ({ body, request }, deps) => add(request.userId, body, request, deps),
});

export const getOwnSshKeys = route({
  ...own,
  method: "get",
  path: "/user/settings/ssh-key",
  operationId: "listOwnSshKeys",
  summary: "List one's SSH keys",
  scope: "USER_READ",
  list,
  reply: SshKeyView,
  errors: [403],
  handle: ({ page, request }, deps) => listed(request.userId, page, deps),
});

export const deleteOwnSshKey = route({
  ...own,
  method: "delete",
  path: "/user/settings/ssh-key/{uuid}",
  operationId: "deleteOwnSshKey",
  summary: "Delete an SSH key",
  scope: "USER_WRITE",
  params: ownParams,
  reply: "empty",
  errors: [403, 404],
  handle: ({ params, request }, deps) => remove(request.userId, params.uuid, request, deps),
});

const admin = { tag: "Administration", scope: "USER_WRITE", access: "admin" } as const;
const userParams = z.object({ userAlias: z.string() });
const keyParams = userParams.extend({ keyUuid: SshKeyId });

export const postUserSshKey = route({
  ...admin,
  method: "post",
  path: "/admin/user/{userAlias}/key/create",
  operationId: "addUserSshKey",
  summary: "Add an SSH key to a user",
  params: userParams,
  body: NewSshKey,
  reply: SshKeyView,
  errors: [403, 404, 422],
  handle: async ({ params, body, request }, deps) =>
    add(await idOf(params.userAlias, deps), body, request, deps),
});

export const getUserSshKeys = route({
  ...admin,
  method: "get",
  path: "/admin/user/{userAlias}/key",
  operationId: "listUserSshKeys",
  summary: "List a user's SSH keys",
  params: userParams,
  list,
  reply: SshKeyView,
  errors: [403, 404],
  handle: async ({ params, page }, deps) => listed(await idOf(params.userAlias, deps), page, deps),
});

export const getUserSshKey = route({
  ...admin,
  method: "get",
  path: "/admin/user/{userAlias}/key/{keyUuid}",
  operationId: "getUserSshKey",
  summary: "Get an SSH key of a user",
  params: keyParams,
  reply: SshKeyView,
  errors: [403, 404],
  handle: async ({ params }, deps) =>
    shown(await mustFind(await idOf(params.userAlias, deps), params.keyUuid, deps), deps),
});

export const deleteUserSshKey = route({
  ...admin,
  method: "delete",
  path: "/admin/user/{userAlias}/key/delete/{keyUuid}",
  operationId: "deleteUserSshKey",
  summary: "Delete an SSH key of a user",
  params: keyParams,
  reply: "empty",
  errors: [403, 404],
  handle: async ({ params, request }, deps) =>
    remove(await idOf(params.userAlias, deps), params.keyUuid, request, deps),
});

async function idOf(alias: string, { db }: Deps): Promise<UserId> {
  return mustBeFound(await findUser(db, alias)).id;
}

async function add(
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
  const result = await addSshKey(commandDeps(deps), newKey, await request.metadata());
  await request.visible(result.position);
  return shown(await mustFind(userId, keyId, deps), deps);
}

async function listed(userId: UserId, { size, offset }: PageRequest, { db }: Deps) {
  const { rows, total } = await listSshKeys(db, { userId, limit: size, offset });
  const uses = await usesOf(
    db,
    sshKeyUses,
    rows.map(({ id }) => id),
  );
  return { items: rows.map((row) => present(row, uses)), totalElements: total };
}

async function remove(
  userId: UserId,
  keyId: SshKeyId,
  request: RequestFor<"user">,
  deps: Deps,
): Promise<void> {
  const { fingerprint } = await mustFind(userId, keyId, deps);
  const which = { userId, keyId, fingerprint, by: request.userId };
  const result = await deleteSshKey(commandDeps(deps), which, await request.metadata());
  await request.visible(result.position);
}

async function mustFind(userId: UserId, keyId: SshKeyId, { db }: Deps): Promise<SshKeyRow> {
  const row = await findSshKey(db, userId, keyId);
  if (row !== undefined) return row;
  throw new Refusal("not_found", "ssh_key.not_found", "SSH key not found.");
}

async function shown(row: SshKeyRow, { db }: Deps): Promise<z.input<typeof SshKeyView>> {
  return present(row, await usesOf(db, sshKeyUses, [row.id]));
}

function present(row: SshKeyRow, uses: ReadonlyMap<string, Date>): z.input<typeof SshKeyView> {
  return {
    uuid: row.id,
    publicKey: row.public_key,
    title: row.title,
    expiresAt: row.expires_at,
    userUuid: row.user_id,
    lastUsedAt: uses.get(row.id) ?? null,
  };
}
