import type { Knex } from "knex";

import type { AccessTokenRow } from "../token/access-token.ts";
import { findUser, type UserRow } from "../user/user.ts";

export type TokenCallerRow = Pick<
  UserRow,
  "alias" | "is_admin" | "is_confirmed" | "banned_at" | "forgotten_at"
> &
  Pick<AccessTokenRow, "user_id" | "scopes" | "expires_at"> &
  Readonly<{
    token_id: string;
    /** Of a token that an OAuth application holds; its owner's ban stops it too. */
    application_id: string | null;
    owner_id: string | null;
  }>;

/** The token of this hash with its user, in one round trip: every request begins with it. */
export function findTokenCaller(db: Knex, tokenHash: string): Promise<TokenCallerRow | undefined> {
  return db<AccessTokenRow>("access_token")
    .join("app_user", "app_user.id", "access_token.user_id")
    .where("access_token.token_hash", tokenHash)
    .first(
      "access_token.id as token_id",
      "access_token.user_id",
      "access_token.scopes",
      "access_token.expires_at",
      "app_user.alias",
      "app_user.is_admin",
      "app_user.is_confirmed",
      "app_user.banned_at",
      "app_user.forgotten_at",
      db.raw("null as application_id"),
      db.raw("null as owner_id"),
    );
}

/** The same of a token that was given to an OAuth application; `token_id` names the authorization. */
export function findOAuthCaller(db: Knex, tokenHash: string): Promise<TokenCallerRow | undefined> {
  return db("oauth_authorization as a")
    .join("oauth_application as b", "b.id", "a.application_id")
    .join("app_user", "app_user.id", "a.user_id")
    .join("app_user as owner", "owner.id", "b.owner_id")
    .where("a.access_hash", tokenHash)
    .where("b.is_registered", true)
    .whereNull("owner.banned_at")
    .whereNull("owner.forgotten_at")
    .first<TokenCallerRow | undefined>(
      "a.id as token_id",
      "a.user_id",
      "a.access_scopes as scopes",
      "a.access_expires_at as expires_at",
      "app_user.alias",
      "app_user.is_admin",
      "app_user.is_confirmed",
      "app_user.banned_at",
      "app_user.forgotten_at",
      "a.application_id",
      "b.owner_id",
    );
}

/** The credentials that a user got a self-contained token with; their row has to exist still. */
export type GrantCredential =
  | Readonly<{ userId: string; via: "token" | "oauth"; tokenId: string }>
  | Readonly<{ userId: string; via: "password" }>;

export type GrantHolderRow = Pick<UserRow, "is_admin" | "password_hash"> &
  Pick<TokenCallerRow, "user_id" | "application_id" | "owner_id"> &
  Readonly<{ expires_at: Date | null }>;

/** The user of such a token, in one round trip; undefined when they, or what they authenticated with, are gone. */
export function findGrantHolder(
  db: Knex,
  credential: GrantCredential,
): Promise<GrantHolderRow | undefined> {
  const query = db("app_user")
    .where("app_user.id", credential.userId)
    .whereNull("app_user.banned_at")
    .whereNull("app_user.forgotten_at");
  const of = ["app_user.id as user_id", "app_user.is_admin", "app_user.password_hash"];
  const noApplication = db.raw("null as application_id, null as owner_id");
  if (credential.via === "password") {
    const endless = db.raw("null as expires_at");
    return query.first<GrantHolderRow | undefined>(...of, endless, noApplication);
  }
  if (credential.via === "token") {
    return query
      .join("access_token", "access_token.user_id", "app_user.id")
      .where("access_token.id", credential.tokenId)
      .first<GrantHolderRow | undefined>(...of, "access_token.expires_at", noApplication);
  }
  return query
    .join("oauth_authorization as a", "a.user_id", "app_user.id")
    .join("oauth_application as b", "b.id", "a.application_id")
    .join("app_user as owner", "owner.id", "b.owner_id")
    .where({ "a.id": credential.tokenId, "b.is_registered": true })
    .whereNull("owner.banned_at")
    .whereNull("owner.forgotten_at")
    .first<GrantHolderRow | undefined>(
      ...of,
      "a.access_expires_at as expires_at",
      "a.application_id",
      "b.owner_id",
    );
}

/** Who logs in under this alias or e-mail. */
export async function findLogin(db: Knex, login: string): Promise<UserRow | undefined> {
  if (!login.includes("@")) return await findUser(db, login);
  return await db<UserRow>("app_user")
    .whereRaw("lower(email) = lower(?)", [login])
    .whereNull("forgotten_at")
    .first();
}
