import type { OAuthApplicationId, OAuthAuthorizationId, UserId } from "../../events/core/ids.ts";
import {
  type OAuthAuthorizationEvent,
  type OAuthEnd,
  oauthAuthorizationEvents,
  oauthAuthorizationStream,
} from "../../events/oauth/authorization.ts";
import type { Scope } from "../../events/token/access-token.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

export type NewTokens = Readonly<{
  scopes: readonly Scope[];
  accessHash: string;
  accessExpiresAt: string;
  refreshHash: string;
  refreshExpiresAt: string;
}>;

export type OAuthAuthorizationCommand =
  | Readonly<{
      type: "ApproveOAuthAuthorization";
      authorizationId: OAuthAuthorizationId;
      userId: UserId;
      applicationId: OAuthApplicationId;
      scopes: readonly Scope[];
      codeHash: string;
      codeExpiresAt: string;
      redirectUri: string | null;
      codeChallenge: string | null;
      at: string;
    }>
  | Readonly<{ type: "RedeemOAuthCode"; tokens: NewTokens; at: string }>
  /** `presented` is the hash of a refresh token that this authorization once gave. */
  | Readonly<{ type: "RefreshOAuthTokens"; presented: string; tokens: NewTokens; at: string }>
  | Readonly<{
      type: "RevokeOAuthAuthorization";
      reason: OAuthEnd;
      by: UserId | null;
      at: string;
    }>;

type Agreed = Readonly<{ userId: UserId; scopes: readonly Scope[]; codeExpiresAt: string }>;

export type OAuthAuthorizationState =
  | Readonly<{ status: "absent" }>
  | Readonly<{ status: "revoked" }>
  | (Agreed & Readonly<{ status: "approved" }>)
  | (Agreed & Readonly<{ status: "issued"; refreshHash: string; refreshExpiresAt: string }>);

/**
 * A code or refresh token that is used a second time does not refuse but revoke: the caller has to
 * look whether the tokens are theirs in the end.
 */
export const oauthAuthorization: Slice<
  OAuthAuthorizationState,
  OAuthAuthorizationCommand,
  typeof oauthAuthorizationEvents
> = {
  events: oauthAuthorizationEvents,
  stream: oauthAuthorizationStream,
  initialState: { status: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "ApproveOAuthAuthorization": {
        if (state.status !== "absent") {
          const message = "This authorization exists already.";
          throw new Refusal("conflict", "oauth.authorization_exists", message);
        }
        const { type: _, at: approvedAt, scopes, ...data } = command;
        const all = { ...data, scopes: [...scopes], approvedAt };
        return [{ type: "OAuthAuthorizationApproved", data: all }];
      }
      case "RedeemOAuthCode": {
        const { status, codeExpiresAt } = mustBeAlive(state);
        if (status === "issued") return revoked("CODE_REUSED", null, command.at);
        if (codeExpiresAt < command.at) throw notGood();
        const data = { ...within(state, command.tokens), redeemedAt: command.at };
        return [{ type: "OAuthCodeRedeemed", data }];
      }
      case "RefreshOAuthTokens": {
        const alive = mustBeAlive(state);
        if (alive.status === "approved") throw notGood();
        if (alive.refreshHash !== command.presented) {
          return revoked("REFRESH_REUSED", null, command.at);
        }
        if (alive.refreshExpiresAt < command.at) throw notGood();
        const data = { ...within(state, command.tokens), refreshedAt: command.at };
        return [{ type: "OAuthTokensRefreshed", data }];
      }
      case "RevokeOAuthAuthorization": {
        if (state.status === "absent" || state.status === "revoked") return [];
        const { reason, by, at } = command;
        // Another user's authorization is left alone, like one that does not exist.
        return by !== null && by !== state.userId ? [] : revoked(reason, by, at);
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "OAuthAuthorizationApproved": {
        const { userId, scopes, codeExpiresAt } = event.data;
        return { status: "approved", userId, scopes, codeExpiresAt };
      }
      case "OAuthCodeRedeemed":
      case "OAuthTokensRefreshed": {
        if (state.status === "absent" || state.status === "revoked") return state;
        const { refreshHash, refreshExpiresAt } = event.data;
        return { ...state, status: "issued", refreshHash, refreshExpiresAt };
      }
      case "OAuthAuthorizationRevoked":
        return { status: "revoked" };
      default:
        return unreachable(event);
    }
  },
};

type Alive = Extract<OAuthAuthorizationState, Agreed>;

function mustBeAlive(state: OAuthAuthorizationState): Alive {
  if (state.status === "absent" || state.status === "revoked") throw notGood();
  return state;
}

function notGood(): Refusal {
  const message = "The code or refresh token is unknown, expired, used or revoked.";
  return new Refusal("unprocessable", "oauth.invalid_grant", message);
}

/** @throws Refusal `oauth.invalid_scope` when more is wanted than the user agreed to */
function within(state: OAuthAuthorizationState, tokens: NewTokens) {
  const agreed = new Set(mustBeAlive(state).scopes);
  if (tokens.scopes.every((scope) => agreed.has(scope))) {
    return { ...tokens, scopes: [...tokens.scopes] };
  }
  const message = "The scope is wider than what the user agreed to.";
  throw new Refusal("unprocessable", "oauth.invalid_scope", message);
}

const revoked = (
  reason: OAuthEnd,
  revokedById: UserId | null,
  revokedAt: string,
): readonly OAuthAuthorizationEvent[] => [
  { type: "OAuthAuthorizationRevoked", data: { reason, revokedById, revokedAt } },
];
