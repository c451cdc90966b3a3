import { LRUCache } from "lru-cache";

import { Limit } from "../../../platform/limit.ts";
import type { Deps } from "../../core/deps.ts";

/** A request of an agent is answered within this time, whether or not there is a job. */
export const holdMsDefault = 50_000;
/** Polls of one process that look into the queue at one time. */
const looksAtOnce = 4;
const kindsMax = 1_000;

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
  let ended = false;
  let queued = 0;
  const wakeAll = (): void => {
    queued += 1;
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
  });
  const waiting: Waiting = {
    look: new Limit({ name: "agent.looks", total: looksAtOnce, whenFull: "wait" }),
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
