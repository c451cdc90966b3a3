import type { Knex } from "knex";
import { idInStream } from "../../events/core/stream.ts";
import { sshKeyEvents } from "../../events/user/ssh-key.ts";
import { userEvents } from "../../events/user/user.ts";
import { announce, put, remove } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { defineTable, type RowOf } from "../core/table.ts";
import { oldestFirst, type Part, type Slice } from "../list/list-rows.ts";
import type { UserRow } from "./user.ts";

const { UserForgotten } = userEvents;

const keys = defineTable({
  name: "ssh_key",
  columns: {
    id: "uuid",
    user_id: "uuid",
    title: "text",
    public_key: "text",
    fingerprint: "text",
    expires_at: "timestamptz null",
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(user_id, created_at, id)"],
  lateIndexes: ["(fingerprint)"],
});

export type SshKeyRow = RowOf<typeof keys>;

export const sshKeyProjection = defineReadModel({
  name: "ssh_key",
  version: 2,
  tables: [keys],
  events: { ...sshKeyEvents, UserForgotten },
  opens: true,
  effects: {
    SshKeyAdded: ({ data }, open) =>
      put(keys, {
        id: data.keyId,
        user_id: data.userId,
        title: open(data.title) ?? "",
        public_key: data.publicKey,
        fingerprint: data.fingerprint,
        expires_at: data.expiresAt === null ? null : new Date(data.expiresAt),
        created_at: new Date(data.addedAt),
      }),
    SshKeyDeleted: ({ stream, data }) => [
      remove(keys, { id: data.keyId }),
      // Closes the connections that use the key.
      announce(`user-${idInStream(stream)}`),
    ],
    UserForgotten: ({ stream }) => remove(keys, { user_id: idInStream(stream) }),
  },
});

export function listSshKeys(
  db: Knex,
  { userId, ...part }: Readonly<{ userId: string }> & Part,
): Promise<Slice<SshKeyRow>> {
  return oldestFirst<SshKeyRow>(db, { table: "ssh_key", where: { user_id: userId }, ...part });
}

/** A key of this user; another user's is as good as none. */
export function findSshKey(db: Knex, userId: string, id: string): Promise<SshKeyRow | undefined> {
  return db<SshKeyRow>("ssh_key").where({ id, user_id: userId }).first();
}

/** The keys of these fingerprints, of any user. */
export async function findSshKeys(
  db: Knex,
  fingerprints: readonly string[],
): Promise<ReadonlyMap<string, SshKeyRow>> {
  if (fingerprints.length === 0) return new Map();
  const rows = await db<SshKeyRow>("ssh_key").whereIn("fingerprint", [...new Set(fingerprints)]);
  return new Map(rows.map((row) => [row.fingerprint, row]));
}

export type SshLoginRow = Pick<UserRow, "alias" | "is_admin"> &
  Readonly<{ user_id: string; key_id: string; public_key: string; fingerprint: string }>;

/** The user of a key; undefined when the key has expired, or its user is blocked or forgotten. */
export function findSshLogin(
  db: Knex,
  fingerprint: string,
  now: Date,
): Promise<SshLoginRow | undefined> {
  return db<SshKeyRow>("ssh_key")
    .join("app_user", "app_user.id", "ssh_key.user_id")
    .where("ssh_key.fingerprint", fingerprint)
    .where((query) =>
      query.whereNull("ssh_key.expires_at").orWhere("ssh_key.expires_at", ">=", now),
    )
    .whereNull("app_user.banned_at")
    .whereNull("app_user.forgotten_at")
    .first(
      "ssh_key.id as key_id",
      "ssh_key.public_key",
      "ssh_key.fingerprint",
      "app_user.id as user_id",
      "app_user.alias",
      "app_user.is_admin",
    );
}
