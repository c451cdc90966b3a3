import { randomUUID } from "node:crypto";
import { twoFactor } from "../../commands/access/two-factor.ts";
import { handle } from "../../commands/core/handle.ts";
import { requestedBy } from "../../commands/core/requested.ts";
import type { UserId } from "../../events/core/ids.ts";
import { normaliseCode, otpStep } from "../../platform/identity/otp.ts";
import type { Vault } from "../../platform/key/vault.ts";
import { Refusal } from "../../platform/refusal.ts";
import { findTwoFactor, type TwoFactorRow } from "../../projections/access/two-factor.ts";
import type { Deps } from "../core/deps.ts";
import type { CodeAttempt, SecondFactor } from "./code-check.ts";

type SecondFactorDeps = Pick<
  Deps,
  "db" | "store" | "vault" | "visible" | "settings" | "lockout" | "now"
>;

export function secondFactor(deps: SecondFactorDeps): SecondFactor {
  const { db, settings, lockout } = deps;

  async function check(attempt: CodeAttempt, row: TwoFactorRow): Promise<void> {
    const counted = { account: `${attempt.user.id}:otp`, ip: attempt.ip, always: true };
    const right = await lockout.guard(counted, async () =>
      (await isRight(attempt, row, deps)) ? true : null,
    );
    if (right === null) throw wrongCode();
  }

  return {
    async isRequired(userId) {
      if (!(await settings()).enableTwoFactor) return false;
      return (await findTwoFactor(db, userId))?.is_enabled === true;
    },
    check,
    async verify(attempt) {
      const row = await findTwoFactor(db, attempt.user.id);
      if (row === undefined || !row.is_enabled) throw wrongCode();
      await check(attempt, row);
    },
  };
}

async function isRight(
  attempt: CodeAttempt,
  row: TwoFactorRow,
  deps: SecondFactorDeps,
): Promise<boolean> {
  const code = normaliseCode(attempt.code);
  const secret = await deps.vault.open(row.secret);
  if (secret === null) return false;
  const step = otpStep(secret, code, deps.now());
  if (step !== undefined) return await isFirst(attempt.user.id, step, deps);
  const digest = recoveryDigest(deps.vault, attempt.user.id, code);
  return row.recovery_digests.includes(digest) && (await useRecovery(attempt, digest, deps));
}

/** One statement decides between all who come with the same code, in whatever process. */
async function isFirst(userId: UserId, step: number, { db }: SecondFactorDeps): Promise<boolean> {
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `insert into public.otp_step as used (user_id, step) values (?, ?)
     on conflict (user_id) do update set step = excluded.step where used.step < excluded.step`,
    [userId, step],
  );
  return rowCount === 1;
}

async function useRecovery(
  attempt: CodeAttempt,
  digest: string,
  deps: SecondFactorDeps,
): Promise<boolean> {
  const { user, ip, requestId } = attempt;
  const at = deps.now().toISOString();
  const command = { type: "UseRecoveryCode", recoveryDigest: digest, at } as const;
  const actor = { userId: user.id, alias: user.alias, via: "password", tokenId: null } as const;
  const requested = { actor, userId: user.id, ip, requestId, commandId: randomUUID() };
  const metadata = await requestedBy(deps, requested);
  try {
    const result = await handle(deps.store, twoFactor, { id: user.id, command, metadata });
    await deps.visible(result.position);
    return true;
  } catch (error) {
    // Another login used the code first.
    if (error instanceof Refusal && error.kind === "forbidden") return false;
    throw error;
  }
}

/** Tied to the user: the code of one is nothing for another. */
export function recoveryDigest(vault: Vault, userId: UserId, code: string): string {
  return vault.digest("recovery code", `${userId}:${normaliseCode(code)}`);
}

function wrongCode(): Refusal {
  return new Refusal("forbidden", "auth.otp_wrong", "The code is wrong or was used before.");
}

export function codeRequired(message: string): Refusal {
  return new Refusal("forbidden", "auth.otp_required", message);
}
