import type { Settings } from "../../events/instance/settings.ts";
import type { Counters } from "../../platform/counter.ts";
import { keyedLock } from "../../platform/keyed-lock.ts";
import { networkOf } from "../../platform/network.ts";
import { Refusal } from "../../platform/refusal.ts";

/** An address that logged in counts as the person's own for this long. */
const knownSeconds = 30 * 24 * 3_600;

/** Whose attempts are counted together, and from where they come. */
export type Attempt = Readonly<{
  account: string;
  ip: string;
  /** Counted and locked even where the setting leaves passwords alone: a code is short. */
  always?: boolean;
}>;

export type Lockout = Readonly<{
  /**
   * Checks a password unless the account is locked. Attempts are counted before they are checked,
   * so that many at once count as many; a right one begins the count anew.
   *
   * @throws Refusal 403 `auth.locked`, with the time to wait
   */
  guard: <Found>(attempt: Attempt, check: () => Promise<Found | null>) => Promise<Found | null>;
  /**
   * The person has authenticated at this address, otherwise than by the password: guesses made
   * elsewhere do not keep them out here.
   */
  know: (attempt: Attempt) => Promise<void>;
}>;

/**
 * Locks an account after too many wrong passwords. Addresses it logged in from before have counts of
 * their own: guesses from other addresses cannot keep the owner out. While an account is locked,
 * nothing is counted, so a lock ends at the announced time.
 */
export function loginLockout(counters: Counters, settings: () => Promise<Settings>): Lockout {
  const inTurn = keyedLock();

  async function locking<Found>(
    { account, ip }: Attempt,
    check: () => Promise<Found | null>,
    rules: Settings,
  ): Promise<Found | null> {
    const network = networkOf(ip);
    const known = `login-known:${account}:${network}`;
    const isKnown = (await counters.get(known)) !== undefined;
    const name = isKnown ? `${account}:${network}` : account;
    const [failures, lock] = [`login-failed:${name}`, `login-locked:${name}`];

    const locked = await counters.get(lock);
    if (locked !== undefined) throw isLocked(locked.resetMs);
    const { count } = await counters.add(failures, rules.timeToCountFailUserLoginAttempts);
    if (count > rules.maxAttemptsToLoginIntoAccount) {
      const lockSeconds = rules.timeToLockUser * 60;
      await counters.set(lock, 1, lockSeconds);
      await counters.delete(failures);
      throw isLocked(lockSeconds * 1_000);
    }
    const found = await check();
    if (found === null) return null;
    await counters.delete(failures);
    await counters.set(known, 1, knownSeconds);
    return found;
  }

  return {
    async know({ account, ip }) {
      await counters.set(`login-known:${account}:${networkOf(ip)}`, 1, knownSeconds);
    },
    async guard(attempt, check) {
      const rules = await settings();
      const isOn = rules.lockUserAccountIfLoginAttemptsHasBeenExceeded || attempt.always === true;
      if (!isOn) return await check();
      // One after another here: right passwords that come at once are not taken for guesses.
      return await inTurn(attempt.account, () => locking(attempt, check, rules));
    },
  };
}

function isLocked(resetMs: number): Refusal {
  const message = "Too many failed logins: this account is locked for a while.";
  const retryAfterSeconds = Math.max(1, Math.ceil(resetMs / 1_000));
  return new Refusal("forbidden", "auth.locked", message, { retryAfterSeconds });
}
