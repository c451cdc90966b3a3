import { z } from "zod";

import type { Recorded } from "../../events/core/event.ts";
import { jobEvents } from "../../events/pipeline/job.ts";
import { pipelineEvents } from "../../events/pipeline/pipeline.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { endsOf, type JobEnd } from "../../projections/pipeline/follower.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import {
  advancePipeline,
  advanceQueue,
  queuePlainFollowers,
} from "../../services/pipeline/advance.ts";
import { freeGroup } from "../../services/pipeline/resource-group.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const Position = z.string().regex(/^\d+$/).nullable();

/** Events after which a pipeline may have something to do. */
const moving = [
  "JobSucceeded",
  "JobFailed",
  "JobCanceled",
  "JobSkipped",
  "JobPlayed",
  "JobReset",
] as const;

/**
 * Who creates or restarts a pipeline moves it as well; this is for a process that did not live to do it.
 * At the moment of a restart the jobs still show their former ends, which would end the pipeline again.
 */
const begun: ReadonlySet<string> = new Set(["PipelineJobsPlanned", "PipelineRestarted"]);
const begunDelayMs = 5_000;

const AnyOf = z.object({ pipelineId: pipelineEvents.PipelineRestarted.shape.pipelineId });

export const pipelineAdvance: Reactor = {
  name: "pipeline-advance",
  types: new Set([...moving, ...begun]),
  react: (event, deps) => advanceAfter([event], deps),
  reactAll: advanceAfter,
};

/**
 * Most ends of jobs move nothing, or let a few others begin that wait for them by name: a check of those that come
 * together, and these steps, cost less than a job of a queue for each.
 */
async function advanceAfter(
  events: readonly Recorded[],
  deps: ReactingDeps,
): Promise<readonly Job[]> {
  const ends = await shownEnds(deps, events);
  const ordered = new Set<string>();
  const finished = events.map(async (event) => {
    const end = ends.get(leftJob(event));
    const isDone = end !== undefined && (await isOver(deps, end, event, ordered));
    return isDone ? [] : [advanceJob(event)];
  });
  return (await Promise.all(finished)).flat();
}

type ReactingDeps = Pick<WorkerDeps, "db" | "store" | "visible" | "now" | "log">;

/** By job. None while read models are behind: the worker waits for them as well. */
async function shownEnds(
  { db, visible }: Pick<WorkerDeps, "db" | "visible">,
  events: readonly Recorded[],
): Promise<ReadonlyMap<string | null, JobEnd>> {
  const finished = events.flatMap((event) => leftJob(event) ?? []);
  if (finished.length === 0) return new Map();
  try {
    await visible(events.at(-1)?.position);
  } catch {
    return new Map();
  }
  const ends = await endsOf(db, finished);
  return new Map(ends.map((end) => [end.id, end]));
}

/** Whether nothing is left to do after the end of this job. */
async function isOver(
  deps: ReactingDeps,
  end: JobEnd,
  { id, metadata: { correlationId } }: Recorded,
  ordered: Set<string>,
): Promise<boolean> {
  if (end.movesNone && end.resource_group === null) return true;
  try {
    return await queuePlainFollowers(deps, end, { id, correlationId }, ordered);
  } catch (error) {
    // The job of the queue tries it again, and others do not wait for it.
    deps.log.warn({ err: error, jobId: end.id }, "followers of a job not queued");
    return false;
  }
}

function advanceJob(event: Recorded): Job {
  const { pipelineId } = AnyOf.parse(event.data);
  const data = {
    pipelineId,
    causeId: event.id,
    correlationId: event.metadata.correlationId,
    position: String(event.position),
    leftJobId: leftJob(event),
  };
  const delayMs = begun.has(event.type) ? begunDelayMs : 0;
  return { queue: advanceQueue, id: event.id, data, delayMs };
}

const ended: ReadonlySet<string> = new Set(["JobSucceeded", "JobFailed", "JobCanceled"]);

/** A job that ended may free its resource group. */
function leftJob({ type, data }: Recorded): string | null {
  return ended.has(type) ? jobEvents.JobSucceeded.shape.jobId.parse(data["jobId"]) : null;
}

export const pipelineAdvanceWorker = defineWorker({
  queue: advanceQueue,
  concurrency: 8,
  payload: z.object({
    pipelineId: z.uuid(),
    causeId: z.string(),
    correlationId: z.string().optional(),
    position: Position,
    leftJobId: z.uuid().nullish(),
  }),
  async run({ pipelineId, causeId, correlationId = causeId, position, leftJobId }, deps) {
    await deps.visible(position === null ? undefined : BigInt(position));
    const cause = { id: causeId, correlationId };
    const [finished] = leftJobId ? await endsOf(deps.db, [leftJobId]) : [];
    if (finished?.movesNone !== true) await advancePipeline(deps, pipelineId, cause, finished);
    if (finished !== undefined) await freeGroup(deps, finished, cause);
  },
});
