import { z } from "zod";

import { bySystem } from "../../events/core/system.ts";
import { PipelineId } from "../../events/pipeline/id.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { findPipelineById, jobsInOrder } from "../../projections/pipeline/query.ts";
import { settled } from "../../services/pipeline/advance.ts";
import { cancelPipeline, unlessEnded } from "../../services/pipeline/lifecycle.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "pipeline-cancel-failed";

/** With `workflow: auto_cancel: on_job_failure: all`, a job that fails ends its pipeline. */
export const failedJobs: Reactor = {
  name: queue,
  types: new Set(["JobFailed"]),
  async react({ id, data: { pipelineId }, position }, { db }) {
    const row = await findPipelineById(db, String(pipelineId));
    // One that is not shown yet is looked up by the worker.
    if (row?.cancel_on_failure === false) return [];
    return [{ queue, id, data: { pipelineId, causeId: id, position: String(position) } }];
  },
};

export const cancelFailedWorker = defineWorker({
  queue,
  concurrency: 4,
  payload: z.object({ pipelineId: PipelineId, causeId: z.string(), position: z.string() }),
  async run({ pipelineId, causeId, position }, deps) {
    await deps.visible(BigInt(position));
    const row = await findPipelineById(deps.db, pipelineId);
    if (!row?.cancel_on_failure) return;
    const jobs = await settled(deps, () => jobsInOrder(deps.db, pipelineId));
    // It may be tried again, or be allowed to fail.
    if (!jobs.some(({ status }) => status === "FAILED")) return;
    const commandId = deterministicId(causeId, "failed job", pipelineId);
    const step = { commandId, correlationId: pipelineId, causationId: causeId };
    const metadata = bySystem(step, deps.now().toISOString());
    await unlessEnded(() => cancelPipeline(deps, row, { by: null, metadata }));
  },
});
