import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { AccessTokenId, IsoInstant, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

export const Scope = z.enum([
  "USER_READ",
  "USER_WRITE",
  "PROJECT_READ",
  "PROJECT_WRITE",
  "PROJECT_EDIT",
  "TEAM_READ",
  "TEAM_WRITE",
  "COMPANY_READ",
  "COMPANY_WRITE",
  "READ_REGISTRY",
  "WRITE_REGISTRY",
]);
export type Scope = z.output<typeof Scope>;

/** Access tokens open the REST interface and git; transport tokens only the registries. */
export const TokenKind = z.enum(["ACCESS", "TRANSPORT"]);
export type TokenKind = z.output<typeof TokenKind>;

export const accessTokenEvents = {
  AccessTokenCreated: z.object({
    tokenId: AccessTokenId,
    userId: UserId,
    kind: TokenKind,
    name: z.string(),
    scopes: z.array(Scope),
    /** SHA-256 of the token's text, hex; the text itself is shown once and kept nowhere. */
    tokenHash: z.string(),
    /** The end of the last valid day; null: never expires. */
    expiresAt: IsoInstant.nullable(),
    createdAt: IsoInstant,
  }),
  AccessTokenRevoked: z.object({
    tokenId: AccessTokenId,
    revokedById: UserId,
    revokedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

/** All tokens of one user: their names are unique among them. */
export const accessTokenStream = (userId: string): string => streamName("accessToken", userId);
