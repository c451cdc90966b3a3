import { z } from "zod";

import type { Recorded } from "../../events/core/event.ts";
import { jobEvents } from "../../events/pipeline/job.ts";
import { pipelineEvents } from "../../events/pipeline/pipeline.ts";
import { findJobById, isFollowedByNone } from "../../projections/pipeline/query.ts";
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
  react: async (event) => {
    const { pipelineId } = AnyOf.parse(event.data);
    const isBegun = begun.has(event.type);
    const data = {
      pipelineId,
      causeId: event.id,
      correlationId: event.metadata.correlationId,
      position: String(event.position),
      leftJobId: leftJob(event),
    };
    return [{ queue: advanceQueue, id: event.id, data, ...(isBegun && { delayMs: begunDelayMs }) }];
  },
};

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
    const movesNone = left !== undefined && (await isFollowedByNone(deps.db, left));
    if (!movesNone) await advancePipeline(deps, pipelineId, cause);
    if (left !== undefined) await freeGroup(deps, left, cause);
  },
});
