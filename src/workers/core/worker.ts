import { z } from "zod";

import { asOperation, mustNotBeSuspended } from "../../platform/event-loop/operation.ts";
import { PermanentFailure, type RunningWorker } from "../../platform/queue/queue.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

export type WorkerDefinition<Payload extends z.ZodType> = Readonly<{
  /** Kebab case; one worker a queue. */
  queue: string;
  concurrency: number;
  payload: Payload;
  /** Must be safe to run again after stopping at any line. */
  run: (payload: z.output<Payload>, deps: WorkerDeps, signal: AbortSignal) => Promise<void>;
}>;

/** A worker whose payload's type was checked and forgotten. */
export type Worker = Readonly<{
  queue: string;
  concurrency: number;
  /** One attempt at one job. @throws PermanentFailure when trying again cannot help. */
  runJob: (data: unknown, deps: WorkerDeps, signal: AbortSignal) => Promise<void>;
}>;

/** A payload that does not parse now will not parse later either. */
export function defineWorker<Payload extends z.ZodType>(
  definition: WorkerDefinition<Payload>,
): Worker {
  const { queue, concurrency, payload, run } = definition;
  return {
    queue,
    concurrency,
    async runJob(data, deps, signal) {
      const parsed = payload.safeParse(data);
      if (!parsed.success) throw new PermanentFailure(z.prettifyError(parsed.error));
      await run(parsed.data, deps, signal);
    },
  };
}

/** Jobs hold ids, which tell one from another in fewer characters. */
const aboutMax = 400;

/** Takes jobs until closed; what goes wrong is logged once an attempt. */
export function startWorker(worker: Worker, deps: WorkerDeps): Promise<RunningWorker> {
  const { queue, concurrency } = worker;
  const log = deps.log.child({ queue });
  return deps.queues.work({
    queue,
    concurrency,
    async run(data, signal) {
      // A job has no caller, but the same data when it comes again after a kill.
      const running = { name: `job-${queue}`, caller: JSON.stringify(data).slice(0, aboutMax) };
      try {
        mustNotBeSuspended(running);
        await asOperation(running, () => worker.runJob(data, deps, signal));
      } catch (error) {
        const permanent = error instanceof PermanentFailure;
        log.warn({ err: error, data, permanent }, "job failed");
        throw error;
      }
    },
  });
}
