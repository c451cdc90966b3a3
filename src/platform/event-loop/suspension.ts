import type { Kill } from "./kill-file.ts";
import type { Running } from "./operation-memory.ts";

/** So many kills by one operation of one caller suspend it. */
const killsMax = 2;
const countedMs = 60 * 60_000;
const suspendedMs = 10 * 60_000;

let kills: readonly Kill[] = [];
let untilByOperation: ReadonlyMap<string, number> = new Map();

/** What the file of kills holds, of all processes on the data directory. */
export function learnKills(recent: readonly Kill[]): void {
  kills = recent;
  untilByOperation = suspensions(recent);
}

/** Of the last day, of all processes on the data directory. */
export const recentKills = (): readonly Kill[] => kills;

/** 0 when it is not suspended. */
export function suspendedForMs(operation: Running, now: number): number {
  if (untilByOperation.size === 0) return 0;
  return Math.max(0, (untilByOperation.get(keyOf(operation)) ?? 0) - now);
}

/** Until when each operation of a caller is suspended, as far as it was killed often enough. */
export function suspensions(recent: readonly Kill[]): ReadonlyMap<string, number> {
  const byOperation = new Map<string, number[]>();
  for (const { at, running } of recent) {
    if (running === undefined) continue;
    const key = keyOf(running);
    byOperation.set(key, [...(byOperation.get(key) ?? []), at]);
  }
  const until = new Map<string, number>();
  for (const [key, times] of byOperation) {
    const last = Math.max(...times);
    const counted = times.filter((at) => at > last - countedMs);
    if (counted.length >= killsMax) until.set(key, last + suspendedMs);
  }
  return until;
}

const keyOf = ({ name, caller }: Running): string => `${name}\n${caller}`;
