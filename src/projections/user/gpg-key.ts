import type { Knex } from "knex";
import { idInStream } from "../../events/core/stream.ts";
import { gpgKeyEvents } from "../../events/user/gpg-key.ts";
import { userEvents } from "../../events/user/user.ts";
import { announce, put, remove } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { defineTable, type RowOf } from "../core/table.ts";
import { oldestFirst, type Part, type Slice } from "../list/list-rows.ts";

const { UserForgotten } = userEvents;

const keys = defineTable({
  name: "gpg_key",
  columns: {
    id: "uuid",
    user_id: "uuid",
    title: "text",
    public_key: "text",
    fingerprint: "text",
    fingerprints: "text[]",
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(user_id, created_at, id)"],
});

export type GpgKeyRow = RowOf<typeof keys>;

export const gpgKeyProjection = defineReadModel({
  name: "gpg_key",
  version: 2,
  tables: [keys],
  events: { ...gpgKeyEvents, UserForgotten },
  opens: true,
  effects: {
    GpgKeyAdded: ({ data }, open) => [
      put(keys, {
        id: data.keyId,
        user_id: data.userId,
        title: open(data.title) ?? "",
        public_key: open(data.publicKey) ?? "",
        fingerprint: data.fingerprint,
        fingerprints: data.fingerprints,
        created_at: new Date(data.addedAt),
      }),
      announce(`user-${data.userId}`),
    ],
    GpgKeyDeleted: ({ stream, data }) => [
      remove(keys, { id: data.keyId }),
      announce(`user-${idInStream(stream)}`),
    ],
    UserForgotten: ({ stream }) => remove(keys, { user_id: idInStream(stream) }),
  },
});

export function listGpgKeys(
  db: Knex,
  { userId, ...part }: Readonly<{ userId: string }> & Part,
): Promise<Slice<GpgKeyRow>> {
  return oldestFirst<GpgKeyRow>(db, { table: "gpg_key", where: { user_id: userId }, ...part });
}

/** A key of this user; another user's is as good as none. */
export function findGpgKey(db: Knex, userId: string, id: string): Promise<GpgKeyRow | undefined> {
  return db<GpgKeyRow>("gpg_key").where({ id, user_id: userId }).first();
}

/** All keys of a user, armoured: they are few. */
export async function gpgKeysOf(db: Knex, userId: string): Promise<readonly GpgKeyRow[]> {
  return await db<GpgKeyRow>("gpg_key").where({ user_id: userId }).orderBy("created_at");
}
