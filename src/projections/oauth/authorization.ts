import type { Knex } from "knex";
import type { OAuthApplicationId, OAuthAuthorizationId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { oauthApplicationEvents } from "../../events/oauth/application.ts";
import { oauthAuthorizationEvents } from "../../events/oauth/authorization.ts";
import type { Scope } from "../../events/token/access-token.ts";
import { userEvents } from "../../events/user/user.ts";
import { announceChange } from "../core/announce.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import type { Slice } from "../user/user.ts";

export type OAuthAuthorizationRow = Readonly<{
  id: OAuthAuthorizationId;
  user_id: UserId;
  application_id: OAuthApplicationId;
  /** What the user agreed to. */
  scopes: readonly Scope[];
  code_hash: string;
  redirect_uri: string | null;
  code_challenge: string | null;
  approved_at: Date;
  /** All null until the code was redeemed. */
  access_hash: string | null;
  access_scopes: readonly Scope[] | null;
  access_expires_at: Date | null;
}>;

/** Every refresh token an authorization gave, so that one that comes again is known. */
type RefreshTokenRow = Readonly<{ hash: string; authorization_id: string }>;

const { OAuthApplicationDeleted } = oauthApplicationEvents;
const { UserForgotten } = userEvents;

/** Authorizations that were not revoked; what they open depends on user, application and time. */
export const oauthAuthorizationProjection = defineProjection({
  name: "oauth_authorization",
  version: 1,
  tables: ["oauth_authorization", "oauth_refresh_token"],
  async create(tx) {
    await tx.schema.createTable("oauth_authorization", (table) => {
      table.uuid("id").primary();
      table.uuid("user_id").notNullable();
      table.uuid("application_id").notNullable().index();
      table.specificType("scopes", "text[]").notNullable();
      table.text("code_hash").notNullable().unique();
      table.text("redirect_uri");
      table.text("code_challenge");
      table.timestamp("approved_at").notNullable();
      table.text("access_hash").unique();
      table.specificType("access_scopes", "text[]");
      table.timestamp("access_expires_at");
      table.index(["user_id", "application_id"]);
    });
    await tx.schema.createTable("oauth_refresh_token", (table) => {
      table.text("hash").primary();
      table.uuid("authorization_id").notNullable().index();
    });
  },
  events: { ...oauthAuthorizationEvents, OAuthApplicationDeleted, UserForgotten },
  handlers: {
    OAuthAuthorizationApproved: async (tx, { data }) => {
      const row = {
        id: data.authorizationId,
        user_id: data.userId,
        application_id: data.applicationId,
        scopes: data.scopes,
        code_hash: data.codeHash,
        redirect_uri: data.redirectUri,
        code_challenge: data.codeChallenge,
        approved_at: new Date(data.approvedAt),
        access_hash: null,
        access_scopes: null,
        access_expires_at: null,
      };
      await tx<OAuthAuthorizationRow>("oauth_authorization").insert(row).onConflict("id").merge();
    },
    OAuthCodeRedeemed: (tx, { stream, data }) => give(tx, idInStream(stream), data),
    OAuthTokensRefreshed: (tx, { stream, data }) => give(tx, idInStream(stream), data),
    OAuthAuthorizationRevoked: async (tx, { stream }) => {
      for (const { user_id } of await drop(tx, { id: idInStream(stream) })) {
        await announceChange(tx, `user-${user_id}`);
      }
    },
    OAuthApplicationDeleted: async (tx, { stream }) => {
      const applicationId = idInStream(stream);
      await drop(tx, { application_id: applicationId });
      await announceChange(tx, `application-${applicationId}`);
    },
    UserForgotten: async (tx, { stream }) => {
      await drop(tx, { user_id: idInStream(stream) });
    },
  },
});

type Given = Readonly<{
  scopes: readonly Scope[];
  accessHash: string;
  accessExpiresAt: string;
  refreshHash: string;
}>;

async function give(tx: Tx, id: string, given: Given): Promise<void> {
  const rows = await tx("oauth_authorization")
    .where({ id })
    .update({
      access_hash: given.accessHash,
      access_scopes: given.scopes,
      access_expires_at: new Date(given.accessExpiresAt),
    })
    .returning<Pick<OAuthAuthorizationRow, "user_id">[]>("user_id");
  const row = { hash: given.refreshHash, authorization_id: id };
  // Revoked by the deletion of its application: nothing is to be remembered of it.
  if (rows.length === 0) return;
  await tx<RefreshTokenRow>("oauth_refresh_token").insert(row).onConflict("hash").ignore();
  for (const { user_id } of rows) await announceChange(tx, `user-${user_id}`);
}

async function drop(tx: Tx, which: Partial<Readonly<Record<string, string>>>) {
  const rows = await tx("oauth_authorization")
    .where(which)
    .delete()
    .returning<Pick<OAuthAuthorizationRow, "id" | "user_id">[]>(["id", "user_id"]);
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await tx("oauth_refresh_token").whereIn("authorization_id", ids).delete();
  return rows;
}

type Found = Promise<OAuthAuthorizationRow | undefined>;

/** By hash. */
export function findAuthorizationByCode(db: Knex, codeHash: string): Found {
  return db<OAuthAuthorizationRow>("oauth_authorization").where({ code_hash: codeHash }).first();
}

/** By the hash of any refresh token it ever gave. */
export function findAuthorizationByRefresh(db: Knex, hash: string): Found {
  return db<OAuthAuthorizationRow>("oauth_authorization")
    .join("oauth_refresh_token", "oauth_refresh_token.authorization_id", "oauth_authorization.id")
    .where("oauth_refresh_token.hash", hash)
    .first("oauth_authorization.*");
}

export function findAuthorizationByAccess(db: Knex, accessHash: string): Found {
  return db<OAuthAuthorizationRow>("oauth_authorization")
    .where({ access_hash: accessHash })
    .first();
}

/** Those of a user for one application. */
export async function authorizationsOf(
  db: Knex,
  userId: string,
  applicationId: string,
): Promise<readonly OAuthAuthorizationId[]> {
  const rows = await db<OAuthAuthorizationRow>("oauth_authorization")
    .where("user_id", userId)
    .andWhere("application_id", applicationId)
    .select("id");
  return rows.map(({ id }) => id);
}

export type AuthorizedApplicationRow = Readonly<{
  application_id: string;
  name: string;
  homepage_url: string;
  /** Of all authorizations together. */
  scopes: readonly Scope[];
  first_at: Date;
  used_at: Date | null;
}>;

/** What a user has let in, one line an application, by name. */
export async function listAuthorizedApplications(
  db: Knex,
  { userId, limit, offset }: Readonly<{ userId: string; limit: number; offset: number }>,
): Promise<Slice<AuthorizedApplicationRow>> {
  const shown = () =>
    db("oauth_authorization as a")
      .join("oauth_application as b", "b.id", "a.application_id")
      .where("a.user_id", userId);
  const [rows, counted] = await Promise.all([
    shown()
      .leftJoin("public.token_use as u", "u.token_id", "a.id")
      .joinRaw("cross join lateral unnest(a.scopes) as one(scope)")
      .groupBy("a.application_id", "b.name", "b.homepage_url")
      .orderBy([{ column: "b.name" }, { column: "a.application_id" }])
      .limit(limit)
      .offset(offset)
      .select<AuthorizedApplicationRow[]>(
        "a.application_id",
        "b.name",
        "b.homepage_url",
        db.raw("array_agg(distinct one.scope) as scopes"),
        db.raw("min(a.approved_at) as first_at"),
        db.raw("max(u.used_at) as used_at"),
      ),
    shown().countDistinct({ total: "a.application_id" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
}
