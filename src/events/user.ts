import { z } from "zod";

import type { EventOf, EventSchemas } from "./event.ts";
import { Alias, IsoInstant, UserId } from "./ids.ts";
import { Sealed } from "./sealed.ts";
import { streamName } from "./stream.ts";

export const userEvents = {
  UserRegistered: z.object({
    userId: UserId,
    alias: Alias,
    email: Sealed,
    /** Keyed digest of the normalised e-mail: names the reservation. */
    emailDigest: z.string(),
    /** Sealed as well: a hash of a weak password can be guessed. */
    passwordHash: Sealed.nullable(),
    admin: z.boolean(),
    confirmed: z.boolean(),
    registeredAt: IsoInstant,
  }),
  UserBanned: z.object({
    reason: Sealed.nullable(),
    bannedById: UserId,
    bannedAt: IsoInstant,
  }),
  UserUnbanned: z.object({ unbannedById: UserId, unbannedAt: IsoInstant }),
  /** The person's key is gone: what was sealed under it reads as null from here on. */
  UserForgotten: z.object({ forgottenAt: IsoInstant }),
} as const satisfies EventSchemas;

export type UserEvent = EventOf<typeof userEvents>;

export const userStream = (id: string): string => streamName("user", id);

/** Names the vault key of a person. */
export const userSubject = (id: string): string => `user-${id}`;
