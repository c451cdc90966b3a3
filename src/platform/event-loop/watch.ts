import inspector from "node:inspector";
import type { Logger } from "pino";

import { startThread } from "../thread.ts";
import { type Kill, killFile, pruneKills } from "./kill-file.ts";
import { showOperationsIn } from "./operation.ts";
import { OperationMemory } from "./operation-memory.ts";
import type { WatchOrder } from "./stall-thread.ts";
import { learnKills } from "./suspension.ts";

export type WatchOptions = Readonly<{
  /** 0: the loop is not watched. */
  stallSeconds: number;
  dataDir: string;
  role: string;
  log: Logger;
}>;

/** Ticks of the watcher until a loop that stands still is killed; the loop beats twice a tick. */
const ticks = 5;
const beatsPerTick = 2;
const threadMebibytesMax = 32;

/**
 * Has a thread watch the event loop of this process, and kill the process when the loop stands still for too long.
 * What started the process, a supervisor or a container engine, starts it again. Reads which operations are suspended for earlier kills.
 */
export function watchEventLoop({ stallSeconds, dataDir, role, log }: WatchOptions) {
  const file = killFile(dataDir);
  learnKills(pruneKills(file, Date.now()));
  if (stallSeconds === 0) return { close: async () => undefined };
  if (process.pid === 1) {
    // The kernel keeps the first process of a container from signals of its own.
    log.warn(
      "this process cannot end itself when its event loop stands still: run it under an init process",
    );
  }
  const memory = new OperationMemory();
  const tickMs = (stallSeconds * 1000) / ticks;
  const thread = startThread("platform/event-loop/stall-thread", threadMebibytesMax);
  thread.on("message", (kills: readonly Kill[]) => learnKills(kills));
  thread.on("error", (error) => {
    log.error({ err: error }, "the event loop is not watched any more: restart this process");
  });
  const order: WatchOrder = {
    ...{ shared: memory.shared, stillMaxMs: stallSeconds * 1000, tickMs, role, file },
    logs: log.isLevelEnabled("fatal"),
  };
  thread.postMessage(order);
  thread.unref();
  const beat = (): void => memory.beat(inspector.url() !== undefined);
  const heart = setInterval(beat, tickMs / beatsPerTick);
  heart.unref();
  showOperationsIn(memory);
  return {
    async close() {
      clearInterval(heart);
      showOperationsIn(undefined);
      await thread.terminate();
    },
  };
}
