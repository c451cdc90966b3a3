import type { Knex } from "knex";

import { accessTokenEvents, type Scope, type TokenKind } from "../events/access-token.ts";
import { idInStream } from "../events/stream.ts";
import { announceChange } from "./announce.ts";
import { oldestFirst, type Part } from "./oldest-first.ts";
import { defineProjection } from "./projection.ts";
import type { Slice } from "./user.ts";

export type AccessTokenRow = Readonly<{
  id: string;
  user_id: string;
  name: string;
  kind: TokenKind;
  scopes: readonly Scope[];
  /** SHA-256 of the token's text, hex. */
  token_hash: string;
  expires_at: Date | null;
  created_at: Date;
}>;

/** Tokens that were not revoked; whether one still opens anything depends on its user and the day. */
export const accessTokenProjection = defineProjection({
  name: "access_token",
  version: 1,
  tables: ["access_token"],
  async create(tx) {
    await tx.schema.createTable("access_token", (table) => {
      table.uuid("id").primary();
      table.uuid("user_id").notNullable();
      table.text("name").notNullable();
      table.text("kind").notNullable();
      table.specificType("scopes", "text[]").notNullable();
      table.text("token_hash").notNullable().unique();
      table.timestamp("expires_at");
      table.timestamp("created_at").notNullable();
      table.index(["user_id", "created_at", "id"]);
    });
  },
  events: accessTokenEvents,
  handlers: {
    AccessTokenCreated: async (tx, { data }) => {
      const row = {
        id: data.tokenId,
        user_id: data.userId,
        name: data.name,
        kind: data.kind,
        scopes: data.scopes,
        token_hash: data.tokenHash,
        expires_at: data.expiresAt === null ? null : new Date(data.expiresAt),
        created_at: new Date(data.createdAt),
      };
      await tx<AccessTokenRow>("access_token").insert(row).onConflict("id").merge();
    },
    AccessTokenRevoked: async (tx, { stream, data }) => {
      await tx<AccessTokenRow>("access_token").where({ id: data.tokenId }).delete();
      await announceChange(tx, `user-${idInStream(stream)}`);
    },
  },
});

type OfUser = Readonly<{ userId: string; kind: TokenKind }>;

export function findTokenByName(
  db: Knex,
  { userId, kind, name }: OfUser & Readonly<{ name: string }>,
): Promise<AccessTokenRow | undefined> {
  return db<AccessTokenRow>("access_token").where({ user_id: userId, kind, name }).first();
}

/** Oldest first. */
export function listTokenRows(
  db: Knex,
  { userId, kind, ...part }: OfUser & Part,
): Promise<Slice<AccessTokenRow>> {
  return oldestFirst<AccessTokenRow>(db, {
    table: "access_token",
    where: { user_id: userId, kind },
    ...part,
  });
}
