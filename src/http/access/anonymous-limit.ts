import { networkOf } from "../../platform/network.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Deps } from "../core/deps.ts";

const windowSeconds = 3_600;

/** An hour, for one network: a class behind one address gets by, a program does not. */
const countsMax = { ask: 30, link: 60, register: 30 } as const;

/**
 * Bounds what callers without an account may have us do, in all processes together.
 *
 * @throws Refusal 429 `anonymous.limit_exceeded`
 */
export async function anonymousLimit(
  { counters }: Pick<Deps, "counters">,
  what: keyof typeof countsMax,
  ip: string,
): Promise<void> {
  const { count, resetMs } = await counters.add(
    `anonymous-${what}:${networkOf(ip)}`,
    windowSeconds,
  );
  if (count <= countsMax[what]) return;
  const message = "Too many of these requests from your network. Try again later.";
  const retryAfterSeconds = Math.max(1, Math.ceil(resetMs / 1_000));
  throw new Refusal("too_many", "anonymous.limit_exceeded", message, { retryAfterSeconds });
}
