import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** Keyed digests of codes that each log in once, for who lost their device. */
const recoveryDigests = z.array(z.string());

export const twoFactorEvents = {
  /** A secret was generated and shown; logins require a code only after one was confirmed. */
  TwoFactorPrepared: z.object({
    userId: UserId,
    /** Of the codes, RFC 6238; base32. */
    secret: Sealed,
    preparedAt: IsoInstant,
  }),
  TwoFactorEnabled: z.object({ recoveryDigests, enabledAt: IsoInstant }),
  RecoveryCodesRenewed: z.object({ recoveryDigests, renewedAt: IsoInstant }),
  RecoveryCodeUsed: z.object({ recoveryDigest: z.string(), usedAt: IsoInstant }),
  TwoFactorDisabled: z.object({ disabledById: UserId, disabledAt: IsoInstant }),
} as const satisfies EventSchemas;

/** One a user. */
export const twoFactorStream = (userId: string): string => streamName("twoFactor", userId);
