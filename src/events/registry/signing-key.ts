import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, RegistryRepositoryId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** The key that a repository signs its indexes with, for clients of Debian and RPM. */
export const registrySigningKeyEvents = {
  RegistrySigningKeyCreated: z.object({
    repositoryId: RegistryRepositoryId,
    /** OpenPGP, hex in lower case. */
    fingerprint: z.string().min(1),
    /** Armored. */
    publicKey: z.string().min(1),
    /** Armored, without a passphrase. */
    privateKey: Sealed,
    createdAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type RegistrySigningKeyEvent = EventOf<typeof registrySigningKeyEvents>;

/** @param id of the repository */
export const registrySigningKeyStream = (id: string): string =>
  streamName("registrySigningKey", id);
