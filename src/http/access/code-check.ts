import type { UserId } from "../../events/core/ids.ts";
import type { TwoFactorRow } from "../../projections/access/two-factor.ts";

/** Who says a code, and from where. */
export type CodeAttempt = Readonly<{
  user: Readonly<{ id: UserId; alias: string }>;
  code: string;
  ip: string;
  requestId: string;
}>;

export type SecondFactor = Readonly<{
  /** Whether a password alone is not enough for this user. */
  isRequired: (userId: UserId) => Promise<boolean>;
  /**
   * Checks a code of the user's device, or a recovery code. Each is good once; tries are counted and
   * bounded, apart from those of the password, even where lockout is switched off.
   *
   * @throws Refusal 403 `auth.otp_wrong`, `auth.locked`
   */
  verify: (attempt: CodeAttempt) => Promise<void>;
  /** Checks a code against this row, also while the set-up is not finished, and independent of the settings. */
  check: (attempt: CodeAttempt, row: TwoFactorRow) => Promise<void>;
}>;
