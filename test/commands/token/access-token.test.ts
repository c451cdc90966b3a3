import { accessToken } from "../../../src/commands/token/access-token.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { AccessTokenId, UserId } from "../../../src/events/core/ids.ts";
import type { accessTokenEvents, Scope } from "../../../src/events/token/access-token.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type AccessTokenEvent = EventOf<typeof accessTokenEvents>;

const given = specify(accessToken);
const userId = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const first = AccessTokenId.parse("3f2e1d0c-5b4a-4938-8716-a5b4c3d2e1f0");
const second = AccessTokenId.parse("4f2e1d0c-5b4a-4938-8716-a5b4c3d2e1f0");

const facts = { userId, kind: "ACCESS", name: "laptop", tokenHash: "h", expiresAt: null } as const;
const create = (tokenId: AccessTokenId, scopes: Scope[] = ["USER_READ"]) =>
  ({ type: "CreateAccessToken", ...facts, tokenId, scopes, at }) as const;
const created = (tokenId: AccessTokenId, scopes: Scope[] = ["USER_READ"]): AccessTokenEvent => ({
  type: "AccessTokenCreated",
  data: { ...facts, tokenId, scopes, createdAt: at },
});
const revoked: AccessTokenEvent = {
  type: "AccessTokenRevoked",
  data: { tokenId: first, revokedById: userId, revokedAt: at },
};

describe("creating an access token", () => {
  it("records the hash and each scope once", () => {
    given()
      .when(create(first, ["USER_READ", "PROJECT_READ", "USER_READ"]))
      .gives(created(first, ["USER_READ", "PROJECT_READ"]));
  });

  it("is refused under a name that is in use, until that token is revoked", () => {
    given(created(first)).when(create(second)).refuses("token.name_taken");
    given(created(first), revoked).when(create(second)).gives(created(second));
  });
});

describe("revoking an access token", () => {
  const revoke = { type: "RevokeAccessToken", tokenId: first, by: userId, at } as const;

  it("happens once, and to tokens of this user only", () => {
    given(created(first)).when(revoke).gives(revoked);
    given(created(first), revoked).when(revoke).givesNothing();
    given(created(second)).when(revoke).givesNothing();
  });
});
