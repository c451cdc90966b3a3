import { setTimeout as delay } from "node:timers/promises";

import { asOperation } from "../../platform/event-loop/operation.ts";
import { areProjectionsInstalled } from "../../projections/status.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

/** Puts right what got stuck, and finds what is due. */
export type Sweep = (deps: WorkerDeps) => Promise<void>;

const sweepMs = 60_000;
const lookMs = 250;

/** At once, because the leader before may have left something, and then every minute. */
export async function runSweeps(
  sweeps: readonly Sweep[],
  deps: WorkerDeps,
  signal: AbortSignal,
): Promise<void> {
  await untilInstalled(deps, signal);
  while (!signal.aborted) {
    for (const sweep of sweeps) {
      const running = { name: `sweep-${sweep.name}`, caller: "" };
      await asOperation(running, () => sweep(deps)).catch((error: unknown) =>
        deps.log.error({ err: error }, "sweep failed, tried again in a minute"),
      );
    }
    await delay(sweepMs, undefined, { signal }).catch(() => undefined);
  }
}

/** What sweeps read is made by the projections, which may start later. */
async function untilInstalled({ db, log }: WorkerDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const installed = await areProjectionsInstalled(db).catch((error: unknown) => {
      log.warn({ err: error }, "sweeps wait for the database");
      return false;
    });
    if (installed) return;
    await delay(lookMs, undefined, { signal }).catch(() => undefined);
  }
}
