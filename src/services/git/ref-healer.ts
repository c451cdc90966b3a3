import type { Logger } from "pino";

import type { RefRecorder } from "./ref-recorder.ts";

const everyMs = 15_000;
/** A push this old is most likely not under way any more; checking one that is does no harm. */
const pushAgeMs = 60_000;

export type Healer = Readonly<{ close: () => Promise<void> }>;

/**
 * Accounts for pushes that a process did not live to finish: all of them at the start, and from
 * then on those that another process may have left.
 */
export function healOften(
  refs: Pick<RefRecorder, "heal">,
  now: () => Date,
  log: Pick<Logger, "warn">,
): Healer {
  let running = Promise.resolve();
  const heal = (ageMs: number): void => {
    running = running
      .then(() => refs.heal(new Date(now().getTime() - ageMs)))
      .catch((error: unknown) => log.warn({ err: error }, "pushes were not accounted for"));
  };
  heal(0);
  const timer = setInterval(() => heal(pushAgeMs), everyMs);
  return {
    async close() {
      clearInterval(timer);
      await running;
    },
  };
}
