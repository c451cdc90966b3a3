import type { Running } from "../../../src/platform/event-loop/operation-memory.ts";
import { learnKills } from "../../../src/platform/event-loop/suspension.ts";

/** Runs something while operations are suspended in this process, each for two kills of a process. */
export async function whileSuspended<Result>(
  operations: readonly Running[],
  run: () => Promise<Result>,
): Promise<Result> {
  const kills = operations.map((running) => ({ at: Date.now(), role: "test", running }));
  learnKills([...kills, ...kills]);
  try {
    return await run();
  } finally {
    learnKills([]);
  }
}
