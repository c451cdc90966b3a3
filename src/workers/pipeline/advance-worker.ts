import { z } from "zod";

import type { Recorded } from "../../events/core/event.ts";
import { jobEvents } from "../../events/pipeline/job.ts";
import { pipelineEvents } from "../../events/pipeline/pipeline.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { findJobById, followedByNone } from "../../projections/pipeline/query.ts";
import type { WorkerDeps } from "../core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
import { advancePipeline, advanceQueue } from "./advance.ts";
import { freeGroup } from "./resource-group.ts";

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

/** Most ends of jobs move nothing: a look at those that come together costs less than a job of a queue for each. */
async function advanceAfter(
  events: readonly Recorded[],
  deps: Pick<WorkerDeps, "db" | "visible">,
): Promise<readonly Job[]> {
  const none = await moveNone(deps, events);
  return events.filter((event) => !none.has(leftJob(event))).map(advanceJob);
}

/** Ids of jobs whose end moves nothing. None while read models are behind: the worker waits for them as well. */
async function moveNone(
  { db, visible }: Pick<WorkerDeps, "db" | "visible">,
  events: readonly Recorded[],
): Promise<ReadonlySet<string | null>> {
  const left = events.flatMap((event) => leftJob(event) ?? []);
  if (left.length === 0) return new Set();
  try {
    await visible(events.at(-1)?.position);
  } catch {
    return new Set();
  }
  const ends = await followedByNone(db, left);
  return new Set(ends.filter((end) => end.resource_group === null).map(({ id }) => id));
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
  concurrency: 4,
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
    const left = leftJobId ? await findJobById(deps.db, leftJobId) : undefined;
    // Others were looked at before they came here.
    const isInGroup = left !== undefined && left.resource_group !== null;
    const movesNone = isInGroup && (await followedByNone(deps.db, [left.id])).length > 0;
    if (!movesNone) await advancePipeline(deps, pipelineId, cause, left);
    if (left !== undefined) await freeGroup(deps, left, cause);
  },
});
