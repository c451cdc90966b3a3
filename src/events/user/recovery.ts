import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/**
 * Requests of an unauthenticated client that sends nothing but an address, whether or not an account
 * has it: an observer must not see the difference.
 */
export const recoveryEvents = {
  PasswordResetAsked: z.object({ emailDigest: z.string(), askedAt: IsoInstant }),
  EmailConfirmationAsked: z.object({ emailDigest: z.string(), askedAt: IsoInstant }),
} as const satisfies EventSchemas;

/** One an address, by its keyed digest. */
export const recoveryStream = (emailDigest: string): string => streamName("recovery", emailDigest);
