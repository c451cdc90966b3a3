import type { Knex } from "knex";
import { idInStream } from "../../events/core/stream.ts";
import { accessTokenEvents, type Scope, type TokenKind } from "../../events/token/access-token.ts";
import { announce, put, remove } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { oldestFirst, type Part, type Slice } from "../list/list-rows.ts";

const tokens = defineTable({
  name: "access_token",
  columns: {
    id: "uuid",
    user_id: "uuid",
    name: "text",
    kind: column<TokenKind>("text"),
    scopes: column<readonly Scope[]>("text[]"),
    /** SHA-256 of the token's text, hex. */
    token_hash: "text",
    expires_at: "timestamptz null",
    created_at: "timestamptz",
  },
  key: ["id"],
  unique: ["(token_hash)"],
  lateIndexes: ["(user_id, created_at, id)"],
});

export type AccessTokenRow = RowOf<typeof tokens>;

/** Tokens that were not revoked; whether one still opens anything depends on its user and the day. */
export const accessTokenProjection = defineReadModel({
  name: "access_token",
  version: 2,
  tables: [tokens],
  events: accessTokenEvents,
  effects: {
    AccessTokenCreated: ({ data }) =>
      put(tokens, {
        id: data.tokenId,
        user_id: data.userId,
        name: data.name,
        kind: data.kind,
        scopes: data.scopes,
        token_hash: data.tokenHash,
        expires_at: data.expiresAt === null ? null : new Date(data.expiresAt),
        created_at: new Date(data.createdAt),
      }),
    AccessTokenRevoked: ({ stream, data }) => [
      remove(tokens, { id: data.tokenId }),
      announce(`user-${idInStream(stream)}`),
    ],
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
