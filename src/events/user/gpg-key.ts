import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { GpgKeyId, IsoInstant, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

const GpgFingerprint = z.string().regex(/^(?:[0-9A-F]{40}|[0-9A-F]{64})$/);

export const gpgKeyEvents = {
  GpgKeyAdded: z.object({
    keyId: GpgKeyId,
    userId: UserId,
    /** People write their names and machines into it. */
    title: Sealed,
    /** Armoured, as written after parsing. People put their names and addresses into it. */
    publicKey: Sealed,
    /** Of the primary key: 40 or 64 hexadecimal digits, upper case. */
    fingerprint: GpgFingerprint,
    /** Of everything that signs for it, the primary key among them. */
    fingerprints: z.array(GpgFingerprint),
    addedById: UserId,
    addedAt: IsoInstant,
  }),
  GpgKeyDeleted: z.object({
    keyId: GpgKeyId,
    fingerprint: GpgFingerprint,
    deletedById: UserId,
    deletedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

/** All keys of one user. */
export const gpgKeyStream = (userId: string): string => streamName("gpgKeyRing", userId);
