import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

import type { Recorded } from "../events/event.ts";
import { upcast, withFormerTypes } from "../events/upcast.ts";
import type { Job } from "../platform/queue.ts";
import { Channel } from "./channel.ts";
import type { WorkerDeps } from "./deps.ts";
import { readReactorPositions, saveReactorPosition } from "./reactor-checkpoint.ts";

/**
 * Turns events into jobs (and, where order matters, into further events). It is called for every
 * event of its types in the order of the log, again after a crash, so what it names must be named
 * after the event: job ids, command ids.
 */
export type Reactor = Readonly<{
  /** Kebab case; key of its checkpoint. */
  name: string;
  types: ReadonlySet<string>;
  react: (event: Recorded, deps: WorkerDeps) => Promise<readonly Job[]>;
  /** In its place, where events that come together are reacted to in one go; in order, and again. */
  reactAll?: (events: readonly Recorded[], deps: WorkerDeps) => Promise<readonly Job[]>;
  /**
   * What a job is for, where doing a later one for the same makes an earlier one superfluous: of those
   * of events that come together, the last is added alone.
   */
  coveredBy?: (job: Job) => string;
}>;

/** So many events may wait for one reactor before it holds up the others. */
const waitingMax = 1_000;
/** Events of no interest move the checkpoint only this often: reading them again costs little. */
const passedMax = 1_000;
/** While events keep coming, the checkpoint is saved this often. */
const saveEveryMs = 100;
/** Events whose jobs are added together, when so many wait. */
const togetherMax = 500;
const retryMinMs = 200;
const retryMaxMs = 30_000;

type Step = Readonly<{ position: bigint; event: Recorded | undefined }>;

/**
 * Feeds all reactors from one subscription until the signal aborts. Each goes on by itself from its
 * own checkpoint; one that fails tries the same event again and again, and never skips.
 */
export async function runReactors(
  reactors: readonly Reactor[],
  deps: WorkerDeps,
  signal: AbortSignal,
): Promise<void> {
  // Each line listens for the end, and none of them for longer.
  setMaxListeners(reactors.length + 10, signal);
  const names = reactors.map(({ name }) => name);
  const positions = await readReactorPositions(deps.db, names);
  const lines = reactors.map((reactor) =>
    startLine(reactor, positions.get(reactor.name) ?? -1n, deps, signal),
  );
  const first = [...positions.values()].reduce((a, b) => (a < b ? a : b), 2n ** 63n);
  try {
    const after = first < 0n ? undefined : first;
    for await (const item of deps.store.subscribeAll({ after, signal })) {
      if (item.kind === "caughtUp") continue;
      const event = item.kind === "event" ? item.event : undefined;
      const position = item.kind === "event" ? item.event.position : item.position;
      for (const line of lines) await line.offer({ position, event });
    }
  } finally {
    for (const line of lines) line.close();
    await Promise.all(lines.map(({ ended }) => ended));
  }
}

function startLine(reactor: Reactor, start: bigint, deps: WorkerDeps, signal: AbortSignal) {
  const channel = new Channel<Step>(waitingMax);
  const types = withFormerTypes(reactor.types);
  let passed = 0;
  signal.addEventListener("abort", () => channel.close(), { once: true });

  async function offer({ position, event }: Step): Promise<void> {
    if (position <= start) return;
    const own = event !== undefined && types.has(event.type);
    passed = own ? 0 : passed + 1;
    if (own) await channel.send({ position, event: upcast(event) });
    else if (passed % passedMax === 0) await channel.send({ position, event: undefined });
  }

  async function work(): Promise<void> {
    let savedAt = performance.now();
    for await (const first of channel) {
      const steps = [first, ...channel.take(togetherMax - 1)];
      let done = 0;
      await persist(reactor, deps, signal, async () => {
        const jobs: Job[] = [];
        let reached = done;
        try {
          if (reactor.reactAll !== undefined) {
            const events = steps.slice(done).flatMap(({ event }) => event ?? []);
            jobs.push(...(await reactor.reactAll(events, deps)));
            reached = steps.length;
          }
          for (const { event } of steps.slice(reached)) {
            if (event !== undefined) jobs.push(...(await reactor.react(event, deps)));
            reached += 1;
          }
        } finally {
          // One that fails does not hold up what those before it brought.
          await deps.queues.add(distinct(jobs, reactor.coveredBy));
          done = reached;
        }
        // Afterwards: after a crash in between, the same jobs are added under the same ids.
        if (!channel.isEmpty && performance.now() - savedAt < saveEveryMs) return;
        await saveReactorPosition(deps.db, reactor.name, steps.at(-1)?.position ?? first.position);
        savedAt = performance.now();
      });
    }
  }
  return { offer, close: () => channel.close(), ended: work() };
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

/** Repeats until it succeeds or the signal aborts. */
async function persist(
  { name }: Reactor,
  { log }: WorkerDeps,
  signal: AbortSignal,
  step: () => Promise<void>,
): Promise<void> {
  for (let pauseMs = retryMinMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, retryMaxMs)) {
    try {
      return await step();
    } catch (error) {
      if (signal.aborted) return;
      log.error({ err: error, reactor: name, retryInMs: pauseMs }, "reactor failed");
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
