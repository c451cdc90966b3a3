import { oauthAuthorization } from "../../../src/commands/oauth/authorization.ts";
import { OAuthApplicationId, OAuthAuthorizationId, UserId } from "../../../src/events/core/ids.ts";
import type { OAuthAuthorizationEvent, OAuthEnd } from "../../../src/events/oauth/authorization.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(oauthAuthorization);
const userId = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const other = UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const soon = "2026-01-02T03:05:00.000Z";
const later = "2026-01-02T03:10:00.000Z";

const facts = {
  authorizationId: OAuthAuthorizationId.parse("3f8f2b52-8b1e-4d7a-9a43-1c1f1f3f7d10"),
  userId,
  applicationId: OAuthApplicationId.parse("6a1d7c36-0a5e-4a0e-8c4a-7f3b2f1f9f01"),
  scopes: ["USER_READ", "PROJECT_READ"] as const,
  codeHash: "c0de",
  codeExpiresAt: soon,
  redirectUri: null,
  codeChallenge: null,
};
const approve = { type: "ApproveOAuthAuthorization", ...facts, at } as const;
const approved: OAuthAuthorizationEvent = {
  type: "OAuthAuthorizationApproved",
  data: { ...facts, scopes: [...facts.scopes], approvedAt: at },
};
const tokens = (n: number, scopes = [...facts.scopes]) => ({
  scopes,
  accessHash: `access ${n}`,
  accessExpiresAt: later,
  refreshHash: `refresh ${n}`,
  refreshExpiresAt: later,
});
const redeem = (n: number, when = at) =>
  ({ type: "RedeemOAuthCode", tokens: tokens(n), at: when }) as const;
const redeemed = (n: number): OAuthAuthorizationEvent => ({
  type: "OAuthCodeRedeemed",
  data: { ...tokens(n), redeemedAt: at },
});
const refresh = (from: number, n: number, when = at) =>
  ({
    type: "RefreshOAuthTokens",
    presented: `refresh ${from}`,
    tokens: tokens(n),
    at: when,
  }) as const;
const refreshed = (n: number): OAuthAuthorizationEvent => ({
  type: "OAuthTokensRefreshed",
  data: { ...tokens(n), refreshedAt: at },
});
const revoke = (by: UserId | null) =>
  ({ type: "RevokeOAuthAuthorization", reason: "USER", by, at }) as const;
const revoked = (reason: OAuthEnd, revokedById: UserId | null = null): OAuthAuthorizationEvent => ({
  type: "OAuthAuthorizationRevoked",
  data: { reason, revokedById, revokedAt: at },
});

describe("an authorization", () => {
  it("is approved once", () => {
    given().when(approve).gives(approved);
    given(approved).when(approve).refuses("oauth.authorization_exists");
  });

  it("gives tokens for its code, within its time", () => {
    given(approved).when(redeem(1)).gives(redeemed(1));
    given(approved).when(redeem(1, later)).refuses("oauth.invalid_grant");
    given().when(redeem(1)).refuses("oauth.invalid_grant");
  });

  it("ends when its code comes again", () => {
    given(approved, redeemed(1)).when(redeem(2)).gives(revoked("CODE_REUSED"));
    given(approved, redeemed(1), refreshed(2)).when(redeem(3)).gives(revoked("CODE_REUSED"));
  });

  it("gives tokens for its newest refresh token, and ends for an older one", () => {
    given(approved, redeemed(1)).when(refresh(1, 2)).gives(refreshed(2));
    given(approved, redeemed(1), refreshed(2)).when(refresh(2, 3)).gives(refreshed(3));
    given(approved, redeemed(1), refreshed(2)).when(refresh(1, 3)).gives(revoked("REFRESH_REUSED"));
    given(approved, redeemed(1))
      .when(refresh(1, 2, "2027-01-01T00:00:00.000Z"))
      .refuses("oauth.invalid_grant");
    given(approved).when(refresh(1, 2)).refuses("oauth.invalid_grant");
  });

  it("never gives more than was agreed to", () => {
    const wider = { ...redeem(1), tokens: tokens(1, ["USER_READ", "USER_WRITE"] as never) };
    given(approved).when(wider).refuses("oauth.invalid_scope");
  });

  it("is revoked by its user or without one, and nobody else; after that it gives nothing", () => {
    given(approved).when(revoke(userId)).gives(revoked("USER", userId));
    given(approved, redeemed(1)).when(revoke(null)).gives(revoked("USER"));
    given(approved).when(revoke(other)).givesNothing();
    given(approved, revoked("USER")).when(revoke(userId)).givesNothing();
    given(approved, redeemed(1), revoked("USER")).when(redeem(2)).refuses("oauth.invalid_grant");
    given(approved, redeemed(1), revoked("USER"))
      .when(refresh(1, 2))
      .refuses("oauth.invalid_grant");
  });
});
