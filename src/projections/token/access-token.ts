import type { Knex } from "knex";
import { idInStream } from "../../events/core/stream.ts";
import { accessTokenEvents, type Scope, type TokenKind } from "../../events/token/access-token.ts";
import { oldestFirst, type Part } from "../core/list-rows.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { tableOf } from "../core/writes.ts";
import type { Slice } from "../user/user.ts";

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

const tokens = tableOf<AccessTokenRow>({ name: "access_token", key: ["id"] });

/** Tokens that were not revoked; whether one still opens anything depends on its user and the day. */
export const accessTokenProjection = defineRowProjection({
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
    AccessTokenCreated: (rows, { data }) => {
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
      rows.put(tokens, row);
    },
    AccessTokenRevoked: (rows, { stream, data }) => {
      rows.remove(tokens, { id: data.tokenId });
      rows.announce(`user-${idInStream(stream)}`);
    },
  },
});

/** Whether an administrator who is not blocked has a token without a last day that may change settings. */
export async function administratorHasToken(db: Knex): Promise<boolean> {
  const row = await db("access_token")
    .join("app_user", "app_user.id", "access_token.user_id")
    .where({ "access_token.kind": "ACCESS", "app_user.is_admin": true })
    .whereNull("access_token.expires_at")
    .whereNull("app_user.banned_at")
    .whereNull("app_user.forgotten_at")
    .whereRaw("'USER_WRITE' = any(access_token.scopes)")
    .first("access_token.id");
  return row !== undefined;
}

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
