import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/**
 * What somebody who is not logged in asked for with nothing but an address, whether or not there is
 * an account to it: who watches must not see the difference.
 */
export const recoveryEvents = {
  PasswordResetAsked: z.object({ emailDigest: z.string(), askedAt: IsoInstant }),
  EmailConfirmationAsked: z.object({ emailDigest: z.string(), askedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type RecoveryEvent = EventOf<typeof recoveryEvents>;

/** One an address, by its keyed digest. */
export const recoveryStream = (emailDigest: string): string => streamName("recovery", emailDigest);
