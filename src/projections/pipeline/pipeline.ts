import type { EventOf, Recorded } from "../../events/core/event.ts";
import { localIdEvents } from "../../events/core/local-id.ts";
import { jobEvents } from "../../events/pipeline/job.ts";
import { type PipelineEvent, pipelineEvents } from "../../events/pipeline/pipeline.ts";
import { defineProjection, ignore, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import { applyJobEvent } from "./job-row.ts";
import { applyNumbers } from "./number.ts";
import { refreshPipelines } from "./refresh.ts";
import { createPipelineTables, pipelineTables } from "./table.ts";

const events = { ...pipelineEvents, ...jobEvents, ...localIdEvents, ...purgeEvents };
type Handled = Recorded<EventOf<typeof events>>;

/** Pipelines and their jobs. The status of a pipeline is computed from those of its jobs. */
export const pipelineProjection = defineProjection({
  name: "pipeline",
  version: 3,
  tables: pipelineTables,
  create: createPipelineTables,
  events,
  handlers: {
    PipelineCreated: one,
    PipelineJobsPlanned: one,
    PipelineFinished: one,
    PipelineRestarted: one,
    PipelineCanceled: ignore,
    PipelineDeleted: one,
    JobQueued: one,
    JobHeld: one,
    JobDelayed: one,
    JobBlocked: one,
    JobPlayed: one,
    JobAssigned: one,
    JobReturned: one,
    JobStarted: one,
    JobSucceeded: one,
    JobFailed: one,
    JobCanceled: one,
    JobSkipped: one,
    JobReset: one,
    JobTriggered: one,
    LocalIdAssigned: one,
    ProjectPurged: one,
  },
  // The status of a pipeline is computed once for a batch, however many of its jobs moved.
  applyAll: apply,
});

function one(tx: Tx, event: Handled): Promise<void> {
  return apply(tx, [event]);
}

async function apply(tx: Tx, batch: readonly Handled[]): Promise<void> {
  const touched = new Set<string>();
  let numbers: Extract<Handled, { type: "LocalIdAssigned" }>[] = [];
  const applyWaitingNumbers = async (): Promise<void> => {
    if (numbers.length > 0) await applyNumbers(tx, numbers);
    numbers = [];
  };
  for (const event of batch) {
    if (event.type === "LocalIdAssigned") {
      numbers.push(event);
      continue;
    }
    await applyWaitingNumbers();
    if (event.type === "ProjectPurged") {
      await purge(tx, event.data.projectId);
      continue;
    }
    const { pipelineId } = event.data;
    if (event.type.startsWith("Pipeline")) {
      await applyPipelineEvent(tx, event as Recorded<PipelineEvent>);
    } else {
      await applyJobEvent(tx, event as Parameters<typeof applyJobEvent>[1]);
    }
    touched.add(pipelineId);
  }
  await applyWaitingNumbers();
  await refreshPipelines(tx, [...touched]);
}

async function purge(tx: Tx, projectId: string): Promise<void> {
  await dropRows(tx, projectId, {
    pipeline: "project_id",
    pipeline_job: "project_id",
    pipeline_job_spec: "project_id",
    pipeline_count: "project_id",
  });
}

async function applyPipelineEvent(tx: Tx, { type, data }: Recorded<PipelineEvent>): Promise<void> {
  switch (type) {
    case "PipelineCreated":
      await tx("pipeline").insert(createdRow(data)).onConflict("id").merge();
      return;
    case "PipelineJobsPlanned":
      await plan(tx, data);
      return;
    case "PipelineFinished": {
      const finished_at = new Date(data.finishedAt);
      const end = { finished_at, duration_seconds: data.durationSeconds };
      const change = { ...end, failure_reason: data.failureReason };
      await tx("pipeline").where({ id: data.pipelineId }).update(change);
      return;
    }
    case "PipelineRestarted":
      await tx("pipeline")
        .where({ id: data.pipelineId })
        .update({ finished_at: null, duration_seconds: null, failure_reason: null });
      return;
    case "PipelineDeleted":
      await remove(tx, data.pipelineId, data.projectId);
      return;
    case "PipelineCanceled":
      return;
  }
}

type Data<Type extends PipelineEvent["type"]> = Extract<PipelineEvent, { type: Type }>["data"];

function createdRow(data: Data<"PipelineCreated">) {
  const failed = data.failureReason !== null;
  return {
    id: data.pipelineId,
    project_id: data.projectId,
    ref: data.ref,
    is_tag: data.isTag,
    commit_id: data.commitId,
    before_commit_id: data.beforeCommitId,
    source: data.source,
    user_id: data.userId,
    parent_pipeline_id: data.parent?.pipelineId ?? null,
    parent_job_id: data.parent?.jobId ?? null,
    merge_request: data.mergeRequest === null ? null : JSON.stringify(data.mergeRequest),
    merge_request_project_id: data.mergeRequest?.projectId ?? null,
    merge_request_number: data.mergeRequest?.projectId ? data.mergeRequest.localId : null,
    started_by_id: data.startedBy?.id ?? null,
    variables: data.variables,
    name: data.name,
    auto_cancel: data.autoCancel,
    jobs: data.jobs,
    failure_reason: data.failureReason,
    status: failed ? "FAILED" : "CREATED",
    finished_at: null,
    duration_seconds: null,
    created_at: new Date(data.createdAt),
  };
}

async function plan(tx: Tx, data: Data<"PipelineJobsPlanned">): Promise<void> {
  const { pipelineId: pipeline_id, projectId: project_id, from } = data;
  const rows = data.jobs.map(({ jobId: id, spec }, index) => ({
    id,
    pipeline_id,
    project_id,
    place: from + index,
    name: spec.name,
    stage: spec.stage,
    stage_index: spec.stageIndex,
    job_when: spec.when,
    may_fail: spec.allowFailure.always,
    needs: spec.needs?.map(({ job }) => job) ?? null,
    tags: spec.tags,
    interruptible: spec.interruptible,
    resource_group: spec.resourceGroup,
    is_trigger: spec.trigger !== null,
    environment: spec.environment?.name ?? null,
    status: "CREATED",
    attempt: 0,
    created_at: new Date(data.plannedAt),
  }));
  await tx("pipeline_job").insert(rows).onConflict("id").merge();
  const specs = data.jobs.map(({ jobId: job_id, spec }) => ({
    job_id,
    pipeline_id,
    project_id,
    spec: JSON.stringify(spec),
  }));
  await tx("pipeline_job_spec").insert(specs).onConflict("job_id").merge();
}

async function remove(tx: Tx, id: string, project_id: string): Promise<void> {
  await tx("pipeline_job").where({ pipeline_id: id }).delete();
  await tx("pipeline_job_spec").where({ pipeline_id: id }).delete();
  const numbered = await tx("pipeline").where({ id }).whereNotNull("local_id").delete();
  await tx("pipeline").where({ id }).delete();
  if (numbered > 0) await tx("pipeline_count").where({ project_id }).decrement("total", 1);
}
