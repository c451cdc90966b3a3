import type { Knex } from "knex";
import { idInStream } from "../../events/core/stream.ts";
import { gpgKeyEvents } from "../../events/user/gpg-key.ts";
import { userEvents } from "../../events/user/user.ts";
import { announceChange } from "../core/announce.ts";
import { oldestFirst, type Part } from "../core/list-rows.ts";
import { defineProjection } from "../core/projection.ts";
import type { Slice } from "./user.ts";

const { UserForgotten } = userEvents;

export type GpgKeyRow = Readonly<{
  id: string;
  user_id: string;
  title: string;
  public_key: string;
  fingerprint: string;
  fingerprints: readonly string[];
  created_at: Date;
}>;

export const gpgKeyProjection = defineProjection({
  name: "gpg_key",
  version: 1,
  tables: ["gpg_key"],
  async create(tx) {
    await tx.schema.createTable("gpg_key", (table) => {
      table.uuid("id").primary();
      table.uuid("user_id").notNullable();
      table.text("title").notNullable();
      table.text("public_key").notNullable();
      table.text("fingerprint").notNullable();
      table.specificType("fingerprints", "text[]").notNullable();
      table.timestamp("created_at").notNullable();
      table.index(["user_id", "created_at", "id"]);
    });
  },
  events: { ...gpgKeyEvents, UserForgotten },
  handlers: {
    GpgKeyAdded: async (tx, { data }, { open }) => {
      const row = {
        id: data.keyId,
        user_id: data.userId,
        title: (await open(data.title)) ?? "",
        public_key: (await open(data.publicKey)) ?? "",
        fingerprint: data.fingerprint,
        fingerprints: data.fingerprints,
        created_at: new Date(data.addedAt),
      };
      await tx<GpgKeyRow>("gpg_key").insert(row).onConflict("id").merge();
      await announceChange(tx, `user-${data.userId}`);
    },
    GpgKeyDeleted: async (tx, { stream, data }) => {
      await tx<GpgKeyRow>("gpg_key").where({ id: data.keyId }).delete();
      await announceChange(tx, `user-${idInStream(stream)}`);
    },
    UserForgotten: async (tx, { stream }) => {
      await tx<GpgKeyRow>("gpg_key")
        .where({ user_id: idInStream(stream) })
        .delete();
    },
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
