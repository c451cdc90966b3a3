import { LRUCache } from "lru-cache";

import { Limiter } from "../../platform/limiter.ts";
import type { QueuedJob, QueueFilter } from "../../projections/pipeline/queue.ts";
import type { Deps } from "../core/deps.ts";

/** An agent that asks is answered within this time, whether or not there is a job. */
export const holdMsDefault = 50_000;
/** Polls of one process that look into the queue at one time. */
const looksAtOnce = 4;
const kindsMax = 1_000;
/** Another process may give out jobs, and a right may end unheard, while a look is shared. */
const sharedMs = 250;

type Find = (filter: QueueFilter) => Promise<readonly QueuedJob[]>;

type Waiting = Readonly<{
  /** Counts what was queued: a look that began before a change may have missed it. */
  seen: () => number;
  /** Resolves when something was queued since `seen`, or nothing more is to be waited for. */
  next: (seen: number, signal: AbortSignal) => Promise<void>;
  look: Limiter;
  /**
   * What of the queue fits agents of this kind. Those that look while nothing was queued since another of them began to
   * look share its answer, for at most `sharedMs`: which of them a job is given to is decided when it is claimed.
   */
  find: (kind: string, filter: QueueFilter, run: Find) => Promise<readonly QueuedJob[]>;
  /** Notes that a job is not to be given out any more, until it is queued again. */
  noteTaken: (jobId: string) => void;
  /** Notes that a look which began at `seen` found nothing for agents of this kind. */
  noteNothing: (kind: string, seen: number) => void;
  /** Whether one did, and nothing was queued since. */
  foundNothing: (kind: string) => boolean;
  end: () => void;
  ended: () => boolean;
}>;

const waitingByListener = new WeakMap<Deps["onChange"], Waiting>();

type Look = Readonly<{
  found: Promise<readonly QueuedJob[]>;
  /** Ids of jobs that were given out since it began. */
  taken: Set<string>;
}>;

/** Undefined when there may be more jobs, and a new look is needed. */
async function leftOf(
  { found, taken }: Look,
  limit: number,
): Promise<readonly QueuedJob[] | undefined> {
  const all = await found;
  const left = all.filter(({ job }) => !taken.has(job.id));
  return left.length > 0 || all.length < limit ? left : undefined;
}

/** Those who wait for jobs in this process. One listener wakes all of them. */
export function waitingFor(onChange: Deps["onChange"]): Waiting {
  const known = waitingByListener.get(onChange);
  if (known !== undefined) return known;
  const wakes = new Set<() => void>();
  const nothing = new LRUCache<string, number>({ max: kindsMax });
  const looks = new LRUCache<string, Look>({ max: kindsMax, ttl: sharedMs, ttlAutopurge: true });
  let ended = false;
  let queued = 0;
  const wakeAll = (): void => {
    queued += 1;
    looks.clear();
    for (const wake of wakes) wake();
  };
  onChange((subject) => {
    if (subject === "jobs" || subject === undefined) wakeAll();
    // Which projects an agent works for may have changed.
    else looks.clear();
  });
  const begin = (key: string, found: Look["found"]): Look => {
    const look = { found, taken: new Set<string>() };
    looks.set(key, look);
    found.catch(() => looks.get(key) === look && looks.delete(key));
    return look;
  };
  const waiting: Waiting = {
    look: new Limiter(looksAtOnce),
    async find(kind, filter, run) {
      const key = JSON.stringify([kind, filter.limit, filter.except]);
      for (;;) {
        const look = looks.get(key) ?? begin(key, run(filter));
        const left = await leftOf(look, filter.limit);
        if (left !== undefined) return left;
        if (looks.get(key) === look) looks.delete(key);
      }
    },
    noteTaken(jobId) {
      for (const { taken } of looks.values()) taken.add(jobId);
    },
    ended: () => ended,
    end() {
      ended = true;
      wakeAll();
    },
    seen: () => queued,
    noteNothing: (kind, seen) => {
      nothing.set(kind, seen);
    },
    foundNothing: (kind) => nothing.get(kind) === queued,
    next: (seen, signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          wakes.delete(wake);
          signal.removeEventListener("abort", wake);
          resolve();
        };
        if (ended || signal.aborted || seen !== queued) return resolve();
        wakes.add(wake);
        signal.addEventListener("abort", wake);
      }),
  };
  waitingByListener.set(onChange, waiting);
  return waiting;
}

/** Answers every agent that waits: the process is about to end. */
export function endHeldPolls(onChange: Deps["onChange"]): void {
  waitingFor(onChange).end();
}
