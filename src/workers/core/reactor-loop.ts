import { setTimeout as delay } from "node:timers/promises";

import type { Recorded } from "../../events/core/event.ts";
import { upcast, withFormerTypes } from "../../events/core/upcast.ts";
import { asOperation, isSuspended } from "../../platform/event-loop/operation.ts";
import type { Job } from "../../platform/queue/queue.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { Channel } from "./channel.ts";
import type { Reactor } from "./reactor.ts";
import { type PatientReaction, patiently } from "./set-aside.ts";

/** So many events may wait for one reactor before it holds up the others. */
const waitingMax = 1_000;
/** Events whose jobs are added together, when so many wait. */
const togetherMax = 500;
const retryMinMs = 200;
const retryMaxMs = 30_000;

/** One reactor at its own pace. */
export type ReactorLoop = Readonly<{
  /** The next item of the log, with its event if there is one; waits while too many do. */
  offer: (position: bigint, event: Recorded | undefined) => Promise<void>;
  /** Nothing up to here needs this reactor any more. */
  reached: () => bigint;
  close: () => void;
  ended: Promise<void>;
}>;

type ReactorLoopOptions = Readonly<{
  reactor: Reactor;
  /** Everything up to here was reacted to before. */
  start: bigint;
  deps: WorkerDeps;
  /** Called when `reached` may have grown by what was worked on. */
  onMoved: () => void;
  signal: AbortSignal;
}>;

export function startReactorLoop({
  reactor,
  start,
  deps,
  onMoved,
  signal,
}: ReactorLoopOptions): ReactorLoop {
  const channel = new Channel<Recorded>(waitingMax);
  const types = withFormerTypes(reactor.types);
  const react = patiently(reactor, deps);
  let offered = start;
  let done = start;
  let pending = 0;
  signal.addEventListener("abort", () => channel.close(), { once: true });

  async function work(): Promise<void> {
    for await (const first of channel) {
      if (reactor.batchMs !== undefined) await channel.filled(togetherMax - 1, reactor.batchMs);
      const events = [first, ...channel.take(togetherMax - 1)];
      if (!(await reactTo(events, { reactor, react }, deps, signal))) return;
      pending -= events.length;
      done = events.at(-1)?.position ?? done;
      onMoved();
    }
  }
  return {
    async offer(position, event) {
      if (position <= start) return;
      offered = position;
      if (event === undefined || !types.has(event.type)) return;
      pending += 1;
      await channel.send(upcast(event));
    },
    // What is of no interest was passed with what came before it.
    reached: () => (pending === 0 ? offered : done),
    close: () => channel.close(),
    ended: work(),
  };
}

/** Repeats what fails until all is done; false when the signal aborted before. */
async function reactTo(
  events: readonly Recorded[],
  { reactor, react }: Readonly<{ reactor: Reactor; react: PatientReaction }>,
  deps: WorkerDeps,
  signal: AbortSignal,
): Promise<boolean> {
  let done = 0;
  let reactAll = reactor.reactAll;
  return persist(reactor, deps, signal, async () => {
    const jobs: Job[] = [];
    let reached = done;
    try {
      const caller = `events from ${events[0]?.id}`;
      const running = { name: `reactor-${reactor.name}`, caller };
      if (reactAll !== undefined && !isSuspended(running)) {
        const together = reactAll;
        // What fails together goes on one by one, up to the event it fails at.
        reactAll = undefined;
        jobs.push(...(await asOperation(running, () => together(events, deps))));
        reached = events.length;
      }
      for (const event of events.slice(reached)) {
        jobs.push(...(await react(event)));
        reached += 1;
      }
    } finally {
      // One that fails does not hold up what those before it brought.
      await deps.queues.add(distinct(jobs, reactor.coveredBy));
      done = reached;
    }
  });
}

function distinct(jobs: readonly Job[], coveredBy: Reactor["coveredBy"]): readonly Job[] {
  const keyOf = coveredBy ?? (({ id }: Job) => id);
  const last = new Map<string, Job>();
  for (const job of jobs) {
    const key = `${job.queue} ${keyOf(job)}`;
    // Later ones come after all that came before them.
    last.delete(key);
    last.set(key, job);
  }
  return [...last.values()];
}

/** Repeats until it succeeds; false when the signal aborted before. */
async function persist(
  { name }: Reactor,
  { log }: WorkerDeps,
  signal: AbortSignal,
  step: () => Promise<void>,
): Promise<boolean> {
  for (let pauseMs = retryMinMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, retryMaxMs)) {
    try {
      await step();
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      log.error({ err: error, reactor: name, retryInMs: pauseMs }, "reactor failed");
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
  return false;
}
