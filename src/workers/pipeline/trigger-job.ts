import { z } from "zod";

import type { JobSpec, JobTrigger } from "../../events/pipeline/job-spec.ts";
import { isFinished } from "../../events/pipeline/status.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { findJobById, findJobSpec, findPipelineById } from "../../projections/pipeline/query.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { triggerQueue } from "../../services/pipeline/advance.ts";
import { actorOfJob } from "../../services/pipeline/job-run.ts";
import { type Cause, orderJob } from "../../services/pipeline/order-job.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
import { cancelChild } from "./cancel-children.ts";
import { creationSlots, creationsAtOnce } from "./creation-slot.ts";
import { startDownstream } from "./downstream.ts";

/** Carries out jobs that start another pipeline. Every step may be repeated. */
export const triggerJobWorker = defineWorker({
  queue: triggerQueue,
  concurrency: creationsAtOnce,
  payload: z.object({ jobId: z.uuid(), attempt: z.int() }),
  async run({ jobId, attempt }, deps, signal) {
    const row = await findJobById(deps.db, jobId);
    const [spec, parent] = await Promise.all([
      findJobSpec(deps.db, jobId),
      row && findPipelineById(deps.db, row.pipeline_id),
    ]);
    const trigger = spec?.trigger;
    if (row === undefined || parent === undefined || !spec || !trigger) return;
    const cause = { id: deterministicId("trigger job", jobId, attempt), correlationId: jobId };
    const run = { ...row, attempt };
    await orderJob(deps, run, { type: "RecordJobStarted", agentId: null, attempt }, cause);
    const user = actorOfJob(run, parent) ?? row.project_id;
    const start = () => startDownstream(deps, { row: run, parent, spec, trigger });
    const { started, why } = await creationSlots.run(start, { caller: user, signal });
    if (started === undefined) {
      await fail(deps, run, { rules: spec, message: why }, cause);
      return;
    }
    const { pipelineId: childPipelineId } = started;
    const triggered = { type: "RecordJobTriggered", childPipelineId } as const;
    await deps.visible(await orderJob(deps, run, triggered, cause));
    if (await isCanceled(deps, run, trigger)) {
      const child = await findPipelineById(deps.db, childPipelineId);
      if (child !== undefined) await cancelChild(deps, child, null, cause);
      return;
    }
    if (why !== undefined) await fail(deps, run, { rules: spec, message: why }, cause);
    else if (!trigger.depend) await succeed(deps, run, cause);
    else await settle(deps, childPipelineId, cause);
  },
});

/** Canceled while it started a pipeline of its project: the cancel did not find that one yet. */
async function isCanceled(
  { db }: WorkerDeps,
  { id, attempt }: JobRow,
  { project }: JobTrigger,
): Promise<boolean> {
  if (project !== null) return false;
  const now = await findJobById(db, id);
  return now?.status === "CANCELED" && now.attempt === attempt;
}

const succeed = (deps: WorkerDeps, row: JobRow, cause: Cause) =>
  orderJob(deps, row, { type: "RecordJobSucceeded", agentId: null, attempt: row.attempt }, cause);

type Failure = Readonly<{ rules: JobSpec; message?: string | undefined }>;

const fail = (deps: WorkerDeps, row: JobRow, { rules, message }: Failure, cause: Cause) =>
  orderJob(
    deps,
    row,
    {
      type: "RecordJobFailed",
      agentId: null,
      attempt: row.attempt,
      reason: "downstream_pipeline_failure",
      message,
      exitCode: null,
      rules,
    },
    cause,
  );

const settleQueue = "pipeline-child";

/** A job that waits for the pipeline it started ends with it. */
export const childPipelines: Reactor = {
  name: "pipeline-child",
  types: new Set(["PipelineFinished"]),
  react: async ({ id, data, position }) => [
    {
      queue: settleQueue,
      id,
      data: { pipelineId: data["pipelineId"], causeId: id, position: String(position) },
    },
  ],
};

export const childPipelineWorker = defineWorker({
  queue: settleQueue,
  concurrency: 4,
  payload: z.object({ pipelineId: z.uuid(), causeId: z.string(), position: z.string() }),
  async run({ pipelineId, causeId, position }, deps) {
    await deps.visible(BigInt(position));
    await settle(deps, pipelineId, { id: causeId, correlationId: pipelineId });
  },
});

async function settle(deps: WorkerDeps, childId: string, cause: Cause): Promise<void> {
  const child = await findPipelineById(deps.db, childId);
  if (!child?.parent_job_id || !isFinished(child.status)) return;
  const row = await findJobById(deps.db, child.parent_job_id);
  const spec = await findJobSpec(deps.db, child.parent_job_id);
  const isWaiting = row?.status === "RUNNING" && row.child_pipeline_id === child.id;
  if (row === undefined || !isWaiting || !spec?.trigger?.depend) return;
  if (child.status === "SUCCESS" || child.status === "WARNING") {
    await succeed(deps, row, cause);
    return;
  }
  const isOwn = child.project_id === row.project_id;
  const message = isOwn ? `Pipeline #${child.local_id} is ${child.status}.` : undefined;
  await fail(deps, row, { rules: spec, message }, cause);
}
