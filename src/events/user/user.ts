import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { Alias, IsoInstant, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

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
    /** The person has shown that the address is theirs; `confirmed` may be a mere setting. */
    emailProved: z.boolean().optional(),
    registeredAt: IsoInstant,
  }),
  /** The old alias is free from here on; projects move with their owner. */
  UserAliasChanged: z.object({
    alias: Alias,
    previousAlias: Alias,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  UserEmailChanged: z.object({
    email: Sealed,
    emailDigest: z.string(),
    previousEmailDigest: z.string(),
    confirmed: z.boolean(),
    /** The replaced address, when a link that was sent there can take it back; only its hash is kept. */
    former: z
      .object({
        email: Sealed,
        takeBackId: z.uuid(),
        tokenHash: z.string(),
        expiresAt: IsoInstant,
      })
      .optional(),
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  /** By the link that went to a former address: it is the account's again, and read by its owner. */
  UserEmailTakenBack: z.object({
    email: Sealed,
    emailDigest: z.string(),
    takenBackAt: IsoInstant,
  }),
  UserPasswordChanged: z.object({
    passwordHash: Sealed,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  /** A field that is absent keeps its value; null clears it. */
  UserProfileChanged: z.object({
    name: Sealed.nullable().optional(),
    surname: Sealed.nullable().optional(),
    avatar: Sealed.nullable().optional(),
    cover: Sealed.nullable().optional(),
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  /** A link was made out that proves the address; only its hash is kept. */
  UserEmailConfirmationRequested: z.object({
    confirmationId: z.uuid(),
    emailDigest: z.string(),
    tokenHash: z.string(),
    expiresAt: IsoInstant,
    requestedAt: IsoInstant,
  }),
  /** The person has read a mail that went to the address. */
  UserEmailConfirmed: z.object({ emailDigest: z.string(), confirmedAt: IsoInstant }),
  /** A link was made out by which the password can be set once; only its hash is kept. */
  UserPasswordResetRequested: z.object({
    resetId: z.uuid(),
    tokenHash: z.string(),
    /** Links to former addresses that can still be taken back: all of them are needed as well. */
    parts: z
      .array(z.object({ resetId: z.uuid(), email: Sealed, tokenHash: z.string() }))
      .optional(),
    expiresAt: IsoInstant,
    requestedAt: IsoInstant,
  }),
  UserBanned: z.object({
    reason: Sealed.nullable(),
    bannedById: UserId,
    bannedAt: IsoInstant,
  }),
  UserUnbanned: z.object({ unbannedById: UserId, unbannedAt: IsoInstant }),
  /** Of what the person brings into projects of others; null: the instance's. */
  UserQuotaChanged: z.object({
    allowedBytes: z.int().nonnegative().nullable(),
    previous: z.int().nonnegative().nullable(),
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  /** The person's key is gone: what was sealed under it reads as null from here on. */
  UserForgotten: z.object({ forgottenAt: IsoInstant }),
} as const satisfies EventSchemas;

export type UserEvent = EventOf<typeof userEvents>;

export const userStream = (id: string): string => streamName("user", id);

/** Names the vault key of a person. */
export const userSubject = (id: string): string => `user-${id}`;
