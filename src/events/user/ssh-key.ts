import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, SshKeyId, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

export const sshKeyEvents = {
  SshKeyAdded: z.object({
    keyId: SshKeyId,
    userId: UserId,
    /** People write their names and machines into it. */
    title: Sealed,
    /** `type base64`, as written after parsing. */
    publicKey: z.string(),
    fingerprint: z.string(),
    /** null: for ever. */
    expiresAt: IsoInstant.nullable(),
    addedById: UserId,
    addedAt: IsoInstant,
  }),
  SshKeyDeleted: z.object({
    keyId: SshKeyId,
    fingerprint: z.string(),
    deletedById: UserId,
    deletedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

/** All keys of one user. */
export const sshKeyStream = (userId: string): string => streamName("sshKeyRing", userId);
