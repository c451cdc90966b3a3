import { setMaxListeners } from "node:events";
import { z } from "zod";

import { asCaller } from "../../platform/caller.ts";
import { asOperation, mustNotBeSuspended } from "../../platform/event-loop/operation.ts";
import { Limit } from "../../platform/limit.ts";
import { PermanentFailure, Postponed, type RunningWorker } from "../../platform/queue/queue.ts";
import type { WorkerDeps } from "./deps.ts";

export type WorkerDefinition<Payload extends z.ZodType> = Readonly<{
  /** Kebab case; one worker a queue. */
  queue: string;
  /** How many jobs a process runs at once; with `callerOf`, half of them of one caller. */
  concurrency: number;
  payload: Payload;
  /** On whose behalf a job runs; undefined: of the service itself. */
  callerOf?: (payload: z.output<Payload>, deps: WorkerDeps) => Promise<string | undefined>;
  /** Must be safe to run again after stopping at any line. */
  run: (payload: z.output<Payload>, deps: WorkerDeps, signal: AbortSignal) => Promise<void>;
}>;

/** A worker whose payload's type was checked and forgotten. */
export type Worker = Readonly<{
  queue: string;
  /** How many jobs a process takes at once: those that run, and those that wait for a place. */
  concurrency: number;
  /** What runs at once, when jobs run on behalf of callers. */
  places?: Limit;
  /**
   * One attempt at one job.
   *
   * @param leaving ends the wait for a place
   * @throws PermanentFailure when trying again cannot help; Postponed when the caller has too many that wait
   */
  runJob: (
    data: unknown,
    deps: WorkerDeps,
    signal: AbortSignal,
    leaving?: AbortSignal,
  ) => Promise<void>;
}>;

/** Jobs that wait in a process, half of them of one caller; those beyond wait in the queue. */
const waitingMin = 16;

/** A payload that does not parse now will not parse later either. */
export function defineWorker<Payload extends z.ZodType>(
  definition: WorkerDefinition<Payload>,
): Worker {
  const { queue, concurrency, payload, run, callerOf } = definition;
  const parse = (data: unknown) => {
    const parsed = payload.safeParse(data);
    if (!parsed.success) throw new PermanentFailure(z.prettifyError(parsed.error));
    return parsed.data;
  };
  if (callerOf === undefined) {
    return {
      ...{ queue, concurrency },
      runJob: async (data, deps, signal) => run(parse(data), deps, signal),
    };
  }
  const waitersMax = Math.max(waitingMin, concurrency);
  const places = new Limit({
    ...{ name: `worker.${queue}`, total: concurrency, whenFull: "wait" },
    ...{ waitersMax, waitersShare: waitersMax / 2, refusal: () => new Postponed() },
  });
  return {
    ...{ queue, places, concurrency: concurrency + waitersMax },
    async runJob(data, deps, signal, leaving = signal) {
      const parsed = parse(data);
      const caller = await callerOf(parsed, deps);
      const work = () => run(parsed, deps, signal);
      if (caller === undefined) return places.run(work, { signal: leaving });
      await places.run(() => asCaller(caller, work), { caller, signal: leaving });
    },
  };
}

/** Jobs hold ids, which tell one from another in fewer characters. */
const aboutMax = 400;

/** Takes jobs until closed; what goes wrong is logged once an attempt. */
export async function startWorker(worker: Worker, deps: WorkerDeps): Promise<RunningWorker> {
  const { queue, concurrency } = worker;
  const log = deps.log.child({ queue });
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const running = await deps.queues.work({
    queue,
    concurrency,
    async run(data, signal) {
      const leaving = AbortSignal.any([signal, closing.signal]);
      // A job has no caller, but the same data when it comes again after a kill.
      const operation = { name: `job-${queue}`, caller: JSON.stringify(data).slice(0, aboutMax) };
      try {
        mustNotBeSuspended(operation);
        await asOperation(operation, () => worker.runJob(data, deps, signal, leaving));
      } catch (error) {
        if (error instanceof Postponed) throw error;
        const permanent = error instanceof PermanentFailure;
        log.warn({ err: error, data, permanent }, "job failed");
        throw error;
      }
    },
  });
  return {
    close() {
      // Jobs that wait for a place go back to the queue.
      closing.abort(new Postponed());
      return running.close();
    },
  };
}
