import { z } from "zod";

import { asOperation, mustNotBeSuspended } from "../../platform/event-loop/operation.ts";
import { PermanentFailure, type RunningWorker } from "../../platform/queue/queue.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { JobsByOwner } from "./jobs-by-owner.ts";
import type { OwnerOf } from "./owner.ts";

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

/**
 * Takes jobs until closed; what goes wrong is logged once an attempt.
 *
 * @param ownerOf who has a share of the jobs that run at once; undefined: nobody
 */
export function startWorker(
  worker: Worker,
  deps: WorkerDeps,
  ownerOf?: OwnerOf,
): Promise<RunningWorker> {
  const { queue, concurrency } = worker;
  const log = deps.log.child({ queue });
  const recall = (id: string) => deps.queues.recall(queue, id);
  const byOwner = ownerOf && new JobsByOwner({ queue, concurrency, recall });
  return deps.queues.work({
    queue,
    concurrency,
    async run(data, signal, job) {
      // A job has no caller, but the same data when it comes again after a kill.
      const running = { name: `job-${queue}`, caller: JSON.stringify(data).slice(0, aboutMax) };
      try {
        mustNotBeSuspended(running);
        const runJob = () => asOperation(running, () => worker.runJob(data, deps, signal));
        const owner = await ownerOf?.(data, deps);
        if (byOwner === undefined || owner === undefined) await runJob();
        else await byOwner.run(owner, job, runJob);
      } catch (error) {
        const permanent = error instanceof PermanentFailure;
        log.warn({ err: error, data, permanent }, "job failed");
        throw error;
      }
    },
  });
}
