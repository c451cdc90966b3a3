import { z } from "zod";
import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, OAuthApplicationId, OAuthAuthorizationId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";
import { Scope } from "../token/access-token.ts";

/** All hashes are SHA-256 in hex; the texts go to the application and are kept nowhere. */
const tokens = {
  /** Those requested, or fewer. */
  scopes: z.array(Scope),
  accessHash: z.string(),
  accessExpiresAt: IsoInstant,
  refreshHash: z.string(),
  refreshExpiresAt: IsoInstant,
};

/** A code or refresh token that was used twice was copied, so all tokens derived from it are revoked. */
export const OAuthEnd = z.enum(["USER", "APPLICATION", "CODE_REUSED", "REFRESH_REUSED"]);
export type OAuthEnd = z.output<typeof OAuthEnd>;

export const oauthAuthorizationEvents = {
  /** The user agreed; the application got a code that opens nothing by itself. */
  OAuthAuthorizationApproved: z.object({
    authorizationId: OAuthAuthorizationId,
    userId: UserId,
    applicationId: OAuthApplicationId,
    scopes: z.array(Scope),
    codeHash: z.string(),
    codeExpiresAt: IsoInstant,
    /** As the request named it; null when it left the registered one to be meant. */
    redirectUri: z.string().nullable(),
    /** RFC 7636, S256; null when the application keeps a secret and sent none. */
    codeChallenge: z.string().nullable(),
    approvedAt: IsoInstant,
  }),
  OAuthCodeRedeemed: z.object({ ...tokens, redeemedAt: IsoInstant }),
  /** The tokens before these open nothing from here on. */
  OAuthTokensRefreshed: z.object({ ...tokens, refreshedAt: IsoInstant }),
  OAuthAuthorizationRevoked: z.object({
    reason: OAuthEnd,
    revokedById: UserId.nullable(),
    revokedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type OAuthAuthorizationEvent = EventOf<typeof oauthAuthorizationEvents>;

export const oauthAuthorizationStream = (id: string): string =>
  streamName("oauthAuthorization", id);
