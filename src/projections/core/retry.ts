import { setTimeout as delay } from "node:timers/promises";
import { StoreUnavailable } from "../../platform/event-store/event-store.ts";
import { isTransient } from "../../platform/postgres-error.ts";

const pauseMinMs = 100;
const pauseMaxMs = 5_000;

/** True for a failure of a store rather than of the request made to it. */
export function mayPass(error: unknown): boolean {
  return error instanceof StoreUnavailable || isTransient(error);
}

/**
 * Runs until it succeeds, pausing longer after each failure that may pass.
 *
 * @throws the first failure that will not pass, and the last one when the signal aborts
 */
export async function retry<Result>(
  signal: AbortSignal,
  run: () => Promise<Result>,
  onFailure: (error: unknown) => void,
): Promise<Result> {
  for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(pauseMs * 2, pauseMaxMs)) {
    try {
      return await run();
    } catch (error) {
      if (signal.aborted || !mayPass(error)) throw error;
      onFailure(error);
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** What of an error is logged: not its other members, which may quote rows and events. */
export function brief(error: unknown): Readonly<{ type: string; message: string; stack?: string }> {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack } = error;
  return { type: name, message, ...(stack !== undefined && { stack }) };
}
