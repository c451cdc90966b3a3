import { performance } from "node:perf_hooks";

const everyMs = 20_000;
/** The part of the time that the event loop is busy, from 0 to 1. */
const idleBelow = 0.05;
/**
 * V8 shrinks its young generation, up to 32 MiB, at a collection of the whole heap while little is allocated, which it
 * measures since the collection before: the first one after work still counts the work.
 */
const collectionsAfterWork = 2;

export type IdleMemory = Readonly<{
  collect: () => void;
  /** Since the last call, from 0 to 1. */
  utilization: () => number;
}>;

/**
 * Has V8 give back what it holds for the next burst of work, once a burst is over. Does nothing in a process that was
 * started without `--expose-gc`. The timer does not keep the process alive.
 */
export function releaseIdleMemory(): void {
  const { gc } = globalThis;
  if (gc === undefined) return;
  setInterval(
    idleCollector({ collect: () => gc(), utilization: loopUtilization() }),
    everyMs,
  ).unref();
}

/** @returns what is called from time to time */
export function idleCollector({ collect, utilization }: IdleMemory): () => void {
  let left = collectionsAfterWork;
  return () => {
    if (utilization() >= idleBelow) {
      left = collectionsAfterWork;
    } else if (left > 0) {
      left -= 1;
      collect();
    }
  };
}

function loopUtilization(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
