import type { Context } from "koa";

import type { Settings } from "../../events/instance/settings.ts";
import type { Counters } from "../../platform/counter.ts";
import { networkOf } from "../../platform/network.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Caller } from "./gate.ts";

const hourSeconds = 3_600;

export type ApiLimit = (ctx: Context, caller: Caller, ip: string) => Promise<void>;

/**
 * Counts a request of a user, or of an address without one, while the setting is on, and says on the
 * answer how many are left (`RateLimit-*`, draft-ietf-httpapi-ratelimit-headers-06).
 *
 * @returns a function that throws Refusal 429 `api.limit_exceeded` over the limit
 */
export function apiLimit(counters: Counters, settings: () => Promise<Settings>): ApiLimit {
  const counted = new WeakSet<Context>();
  return async (ctx, caller, ip) => {
    const { enableApiLimit, userApiCountLimit: limit } = await settings();
    // A request counts once, however often its rights are checked.
    if (!enableApiLimit || counted.has(ctx)) return;
    counted.add(ctx);
    const key = caller.userId === null ? `api-address:${networkOf(ip)}` : `api:${caller.userId}`;
    const { count, resetMs } = await counters.add(key, hourSeconds);
    const resetSeconds = Math.max(1, Math.ceil(resetMs / 1_000));
    ctx.set({
      "RateLimit-Limit": String(limit),
      "RateLimit-Remaining": String(Math.max(0, limit - count)),
      "RateLimit-Reset": String(resetSeconds),
    });
    if (count <= limit) return;
    const message = `More than ${limit} requests in an hour.`;
    throw new Refusal("too_many", "api.limit_exceeded", message, {
      retryAfterSeconds: resetSeconds,
    });
  };
}
