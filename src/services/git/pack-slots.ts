import { Limit, type LimitOptions } from "../../platform/limit.ts";
import { Refusal } from "../../platform/refusal.ts";

export type PackSlots = Partial<
  Pick<LimitOptions, "total" | "share" | "whenFull" | "waitersMax" | "waitersShare">
>;

/**
 * Of fetches and pushes: each makes or takes in a pack, for which it may use a processor and a few hundred megabytes.
 * Git clients wait as long as the connection is open, and do not retry by themselves.
 */
export function packSlots(options: PackSlots = {}): Limit {
  return new Limit({
    name: "git.packs",
    total: 16,
    share: 6,
    whenFull: { refuseAfterMs: 5 * 60_000 },
    waitersMax: 200,
    waitersShare: 50,
    refusal: packsBusy,
    ...options,
  });
}

export function packsBusy(): Refusal {
  const message = "Too many fetches and pushes are running. Try again in a few seconds.";
  return new Refusal("unavailable", "git.busy", message, { retryAfterSeconds: 10 });
}

/** The client has closed its connection, so none reads this refusal. */
export function clientDisconnected(): Refusal {
  return new Refusal("unavailable", "git.gone", "The caller has gone.");
}
