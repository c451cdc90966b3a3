import type { Knex } from "knex";
import type { Recorded } from "../../events/core/event.ts";
import type { OAuthApplicationId, OAuthAuthorizationId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { oauthApplicationEvents } from "../../events/oauth/application.ts";
import {
  type OAuthAuthorizationEvent,
  oauthAuthorizationEvents,
} from "../../events/oauth/authorization.ts";
import type { Scope } from "../../events/token/access-token.ts";
import { userEvents } from "../../events/user/user.ts";
import { announcedAs, channel } from "../core/announce.ts";
import { announce, type Change, change, put, remove, statement } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import type { Slice } from "../list/list-rows.ts";

const { OAuthApplicationDeleted } = oauthApplicationEvents;
const { UserForgotten } = userEvents;

const authorizations = defineTable({
  name: "oauth_authorization",
  columns: {
    id: column<OAuthAuthorizationId>("uuid"),
    user_id: column<UserId>("uuid"),
    application_id: column<OAuthApplicationId>("uuid"),
    /** What the user agreed to. */
    scopes: column<readonly Scope[]>("text[]"),
    code_hash: "text",
    redirect_uri: "text null",
    code_challenge: "text null",
    approved_at: "timestamptz",
    /** All null until the code was redeemed. */
    access_hash: "text null",
    access_scopes: column<readonly Scope[] | null>("text[] null"),
    access_expires_at: "timestamptz null",
  },
  key: ["id"],
  unique: ["(code_hash)", "(access_hash)"],
  indexes: ["(application_id)", "(user_id, application_id)"],
});

export type OAuthAuthorizationRow = RowOf<typeof authorizations>;

/** Every refresh token an authorization gave, so that one that comes again is known. */
const refreshTokens = defineTable({
  name: "oauth_refresh_token",
  columns: { hash: "text", authorization_id: "uuid" },
  key: ["hash"],
  indexes: ["(authorization_id)"],
});

/** Authorizations that were not revoked; what they open depends on user, application and time. */
export const oauthAuthorizationProjection = defineReadModel({
  name: "oauth_authorization",
  version: 2,
  tables: [authorizations, refreshTokens],
  events: { ...oauthAuthorizationEvents, OAuthApplicationDeleted, UserForgotten },
  effects: {
    OAuthAuthorizationApproved: ({ data }) =>
      put(authorizations, {
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
      }),
    OAuthCodeRedeemed: granted,
    OAuthTokensRefreshed: granted,
    OAuthAuthorizationRevoked: ({ stream }) => [
      announceUser(idOf(stream).id),
      remove(authorizations, idOf(stream)),
      remove(refreshTokens, { authorization_id: idOf(stream).id }),
    ],
    OAuthApplicationDeleted: ({ stream }) => {
      const application_id = idInStream(stream) as OAuthApplicationId;
      return [
        removeRefreshTokens("application_id", application_id),
        remove(authorizations, { application_id }),
        announce(`application-${application_id}`),
      ];
    },
    UserForgotten: ({ stream }) => {
      const user_id = idInStream(stream) as UserId;
      return [removeRefreshTokens("user_id", user_id), remove(authorizations, { user_id })];
    },
  },
});

const idOf = (stream: string) => ({ id: idInStream(stream) as OAuthAuthorizationId });

type Granting = Recorded<
  Extract<OAuthAuthorizationEvent, { type: "OAuthCodeRedeemed" | "OAuthTokensRefreshed" }>
>;

function granted({ stream, data }: Granting): readonly Change[] {
  const { id } = idOf(stream);
  const { accessHash: access_hash, scopes: access_scopes, accessExpiresAt } = data;
  const access_expires_at = new Date(accessExpiresAt);
  return [
    change(authorizations, { id }, { access_hash, access_scopes, access_expires_at }),
    statement(rememberRefreshToken, [data.refreshHash, id]),
    announceUser(id),
  ];
}

/** Of an authorization that was revoked by the deletion of its application, nothing is to be remembered. */
const rememberRefreshToken = `
  insert into oauth_refresh_token (hash, authorization_id)
  select ?, id from oauth_authorization where id = ? on conflict do nothing`;

/** Announces the user of an authorization, whom its later events do not name. */
const announceUser = (id: OAuthAuthorizationId): Change =>
  statement("select pg_notify(?, ?::text || user_id) from oauth_authorization where id = ?", [
    channel,
    announcedAs("user-"),
    id,
  ]);

/** Removes the refresh tokens of authorizations that are about to be removed. */
const removeRefreshTokens = (column: "application_id" | "user_id", id: string): Change =>
  statement(
    `delete from oauth_refresh_token as token using oauth_authorization as stored
     where token.authorization_id = stored.id and stored.${column} = ?`,
    [id],
  );

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
  const matching = () =>
    db("oauth_authorization as a")
      .join("oauth_application as b", "b.id", "a.application_id")
      .where("a.user_id", userId);
  const [rows, counted] = await Promise.all([
    matching()
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
    matching().countDistinct({ total: "a.application_id" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
}
