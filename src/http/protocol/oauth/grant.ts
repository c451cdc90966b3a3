import { createHash } from "node:crypto";

import { currentState, handle } from "../../../commands/core/handle.ts";
import {
  type NewTokens,
  type OAuthAuthorizationCommand,
  oauthAuthorization,
} from "../../../commands/oauth/authorization.ts";
import type { Scope } from "../../../events/token/access-token.ts";
import { userSubject } from "../../../events/user/user.ts";
import { isSame } from "../../../platform/key/signed.ts";
import { hashToken, newToken, tokenPrefixes } from "../../../platform/key/token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { callbackChangedSince } from "../../../projections/oauth/application.ts";
import type { OAuthAuthorizationRow } from "../../../projections/oauth/authorization.ts";
import { findUserById } from "../../../projections/user/user.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";

const dayMs = 24 * 3_600_000;
/** One month. */
export const accessLifeMs = 30 * dayMs;
/** An application that sends nothing for this time needs a new consent. */
const refreshLifeMs = 180 * dayMs;

export type Issued = Readonly<{
  access: string;
  refresh: string;
  scopes: readonly Scope[];
  expiresAt: string;
}>;

/** What the exchange of a code has to repeat: the redirect URI and the PKCE verifier of its request. */
export type Exchange = Readonly<{ redirectUri: string | undefined; verifier: string | undefined }>;

/**
 * Tokens for a code. One that was exchanged before revokes what came of it instead.
 *
 * @throws Refusal 422 `oauth.invalid_grant`
 */
export async function exchangeCode(
  row: OAuthAuthorizationRow,
  exchange: Exchange,
  request: RequestContext,
  deps: Deps,
): Promise<Issued> {
  // A code that comes twice is in two hands, whatever else is right or wrong with the request.
  if (row.access_hash === null) {
    mustFit(row, exchange);
    if (await callbackChangedSince(deps.db, row.application_id, row.approved_at)) throw notGood();
  }
  const { issued, tokens } = makeTokens(row.scopes, deps.now());
  await give(row, { type: "RedeemOAuthCode", tokens, at: deps.now().toISOString() }, request, deps);
  await mustBeGiven(row, tokens, deps);
  return issued;
}

/**
 * New tokens for a refresh token, which is used up by it. One that was used before revokes all.
 *
 * @param scopes fewer than the user agreed to; all of those when not given
 * @throws Refusal 422 `oauth.invalid_grant`, `oauth.invalid_scope`
 */
export async function refreshTokens(
  row: OAuthAuthorizationRow,
  { refresh, scopes }: Readonly<{ refresh: string; scopes: readonly Scope[] | undefined }>,
  request: RequestContext,
  deps: Deps,
): Promise<Issued> {
  const { issued, tokens } = makeTokens(scopes ?? row.scopes, deps.now());
  const presented = hashToken(refresh);
  const at = deps.now().toISOString();
  await give(row, { type: "RefreshOAuthTokens", presented, tokens, at }, request, deps);
  await mustBeGiven(row, tokens, deps);
  return issued;
}

function makeTokens(scopes: readonly Scope[], now: Date) {
  const access = newToken(tokenPrefixes.oauthAccess);
  const refresh = newToken(tokenPrefixes.oauthRefresh);
  const expiresAt = new Date(now.getTime() + accessLifeMs).toISOString();
  const tokens: NewTokens = {
    scopes,
    accessHash: hashToken(access),
    accessExpiresAt: expiresAt,
    refreshHash: hashToken(refresh),
    refreshExpiresAt: new Date(now.getTime() + refreshLifeMs).toISOString(),
  };
  return { issued: { access, refresh, scopes, expiresAt }, tokens };
}

/** @throws Refusal 422 also when the user is blocked */
async function give(
  row: OAuthAuthorizationRow,
  command: OAuthAuthorizationCommand,
  request: RequestContext,
  deps: Deps,
): Promise<void> {
  const { id, user_id: userId } = row;
  const user = await findUserById(deps.db, userId);
  if (user === undefined || user.banned_at !== null || user.forgotten_at !== null) throw notGood();
  const actor = { userId, alias: user.alias, via: "oauth", tokenId: id } as const;
  const ip = await deps.vault.seal(userSubject(userId), request.ip);
  await request.executeProcess((metadata) =>
    handle(deps.store, oauthAuthorization, { id, command, metadata: { ...metadata, actor, ip } }),
  );
}

/** The command may have revoked instead of given, when another request was first. */
async function mustBeGiven(
  { id }: OAuthAuthorizationRow,
  { refreshHash }: NewTokens,
  { store }: Deps,
): Promise<void> {
  const state = await currentState(store, oauthAuthorization, id);
  if (state.status !== "issued" || state.refreshHash !== refreshHash) throw notGood();
}

function mustFit(row: OAuthAuthorizationRow, { redirectUri, verifier }: Exchange): void {
  if (row.redirect_uri !== null && row.redirect_uri !== redirectUri) {
    throw notGood("The redirect_uri is not the one of the request.");
  }
  if (row.code_challenge === null) {
    // The challenge was removed from the authorization request on its way (RFC 9700, 2.1.1).
    if (verifier !== undefined) throw notGood("The request had no code_challenge.");
    return;
  }
  if (verifier === undefined || !verifies(verifier, row.code_challenge)) {
    throw notGood("The code_verifier does not match.");
  }
}

/** RFC 7636, 4.6. */
function verifies(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false;
  return isSame(createHash("sha256").update(verifier).digest("base64url"), challenge);
}

export function notGood(
  message = "The code or refresh token is unknown, expired, used or revoked.",
): Refusal {
  return new Refusal("unprocessable", "oauth.invalid_grant", message);
}
