import { LRUCache } from "lru-cache";

import { Limit } from "../../platform/limit.ts";
import type { QueuedJob, QueueFilter } from "../../projections/pipeline/queue.ts";
import type { FoundJobs } from "../../workers/pipeline/claim.ts";
import type { Deps } from "../core/deps.ts";

/** A request of an agent is answered within this time, whether or not there is a job. */
export const holdMsDefault = 50_000;
/** Polls of one process that look into the queue at one time. */
const looksAtOnce = 4;
const kindsMax = 1_000;
/** Another process may give out jobs, and a right may end unheard, while a look is shared. */
const sharedMs = 250;

type Find = (filter: QueueFilter) => Promise<readonly QueuedJob[]>;

/**
 * Requests of one agent that are held at once: a program with its token on as many machines. The oldest one is answered
 * when there are more.
 */
export const heldPerAgentMax = 32;
const polls = new Limit({
  name: "agent.held_polls",
  total: 10_000,
  share: heldPerAgentMax,
  whenFull: "refuse",
});

/** The request of an agent that waits for a job. */
export type HeldRequest = Readonly<{
  /** Aborts when a newer request of the agent takes its place. */
  over: AbortSignal;
  /** Whether the agent was changed since this was called last. */
  takeChange: () => boolean;
  release: () => void;
}>;

type Waiting = Readonly<{
  /** Counts what was queued: a look that began before a change may have missed it. */
  seen: () => number;
  /**
   * Begins to listen to changes of an agent, for as long as its request is held.
   *
   * @throws Refusal 503 when too many of all agents are held
   */
  hold: (agentId: string) => HeldRequest;
  /** Resolves when something was queued since `seen`, the agent was changed, or nothing more is to be waited for. */
  next: (seen: number, held: HeldRequest, signal: AbortSignal) => Promise<void>;
  look: Limit;
  /**
   * What of the queue fits agents of this kind. Those that look while nothing was queued since another of them began to
   * look share its answer, for at most `sharedMs`: which of them a job is given to is decided when it is claimed.
   */
  find: (kind: string, filter: QueueFilter, run: Find) => Promise<FoundJobs>;
  /** Notes that a job is not to be given out any more, until it is queued again. */
  noteTaken: (jobId: string) => void;
  /** Notes that a job which looks have passed over is in the queue as before. */
  noteFreed: () => void;
  /** Notes that a look which began at `seen` found nothing for agents of this kind. */
  noteNothing: (kind: string, seen: number) => void;
  /** Whether one did, and nothing was queued since. */
  foundNothing: (kind: string) => boolean;
  end: () => void;
  ended: () => boolean;
}>;

/** Changes after which a job may fit an agent that it did not fit before; `job-settings` includes rules for refs. */
const awaited: ReadonlySet<string> = new Set(["jobs", "job-settings"]);

const waitingByListener = new WeakMap<Deps["onChange"], Waiting>();

type Look = Readonly<{
  found: Promise<readonly QueuedJob[]>;
  /** Ids of jobs that were given out since it began. */
  taken: Set<string>;
}>;

/** Undefined when there may be more jobs, and a new look is needed. */
async function leftOf({ found, taken }: Look, limit: number): Promise<FoundJobs | undefined> {
  const all = await found;
  const jobs = all.filter(({ job }) => !taken.has(job.id));
  const areAll = all.length < limit;
  return jobs.length > 0 || areAll ? { jobs, areAll } : undefined;
}

/** Looks into the queue that agents of one kind share; see Waiting. */
function sharedLooks(): Pick<Waiting, "find" | "noteTaken"> & Readonly<{ clear: () => void }> {
  const looks = new LRUCache<string, Look>({ max: kindsMax, ttl: sharedMs, ttlAutopurge: true });
  const begin = (key: string, found: Look["found"]): Look => {
    const look = { found, taken: new Set<string>() };
    looks.set(key, look);
    found.catch(() => looks.get(key) === look && looks.delete(key));
    return look;
  };
  return {
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
    clear: () => looks.clear(),
  };
}

type Place = Readonly<{ over: AbortSignal; leave: () => void }>;

/** Places for held requests; the oldest one of an agent ends when there is no place for a newer one. */
function heldPlaces(): (agentId: string) => Place {
  const byAgent = new Map<string, Set<() => void>>();
  return (agentId) => {
    const own = byAgent.get(agentId) ?? new Set();
    const [oldest] = own;
    if (own.size >= heldPerAgentMax) oldest?.();
    const hold = polls.take(1, { caller: agentId });
    const ending = new AbortController();
    const leave = (): void => {
      hold.leave();
      own.delete(letGo);
      if (own.size === 0 && byAgent.get(agentId) === own) byAgent.delete(agentId);
    };
    const letGo = (): void => {
      leave();
      ending.abort();
    };
    byAgent.set(agentId, own.add(letGo));
    return { over: ending.signal, leave };
  };
}

/** Resolves when the request is woken, or the signal aborts. */
function woken(
  wakes: Map<HeldRequest, () => void>,
  held: HeldRequest,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      wakes.delete(held);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    wakes.set(held, wake);
    signal.addEventListener("abort", wake);
  });
}

/** Those who wait for jobs in this process. One listener wakes all of them. */
export function waitingFor(onChange: Deps["onChange"]): Waiting {
  const known = waitingByListener.get(onChange);
  if (known !== undefined) return known;
  const wakes = new Map<HeldRequest, () => void>();
  const holders = new Map<HeldRequest, string>();
  const placeFor = heldPlaces();
  const changed = new Set<HeldRequest>();
  const nothing = new LRUCache<string, number>({ max: kindsMax });
  const looks = sharedLooks();
  let ended = false;
  let queued = 0;
  const wakeAll = (): void => {
    queued += 1;
    looks.clear();
    for (const wake of wakes.values()) wake();
  };
  const noteChanged = (subject: string | undefined): void => {
    for (const [held, agentId] of holders) {
      if (subject !== undefined && subject !== `agent-${agentId}`) continue;
      changed.add(held);
      wakes.get(held)?.();
    }
  };
  onChange((subject) => {
    noteChanged(subject);
    if (subject === undefined || awaited.has(subject)) wakeAll();
    // Which projects an agent works for may have changed.
    else looks.clear();
  });
  const waiting: Waiting = {
    look: new Limit({ name: "agent.looks", total: looksAtOnce, whenFull: "wait" }),
    find: looks.find,
    noteTaken: looks.noteTaken,
    ended: () => ended,
    end() {
      ended = true;
      wakeAll();
    },
    seen: () => queued,
    noteFreed: wakeAll,
    hold(agentId) {
      const { over, leave } = placeFor(agentId);
      const held: HeldRequest = {
        over,
        takeChange: () => changed.delete(held),
        release() {
          leave();
          holders.delete(held);
          changed.delete(held);
        },
      };
      holders.set(held, agentId);
      return held;
    },
    noteNothing: (kind, seen) => {
      nothing.set(kind, seen);
    },
    foundNothing: (kind) => nothing.get(kind) === queued,
    async next(seen, held, signal) {
      if (ended || signal.aborted || seen !== queued || changed.has(held)) return;
      await woken(wakes, held, signal);
    },
  };
  waitingByListener.set(onChange, waiting);
  return waiting;
}

/** Answers every agent that waits: the process is about to end. */
export function endHeldPolls(onChange: Deps["onChange"]): void {
  waitingFor(onChange).end();
}
