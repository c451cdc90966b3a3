import type { EventOf, Recorded } from "../../events/core/event.ts";
import { localIdEvents } from "../../events/core/local-id.ts";
import { jobEvents } from "../../events/pipeline/job.ts";
import { type PipelineEvent, pipelineEvents } from "../../events/pipeline/pipeline.ts";
import { defineProjection, ignore, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import { tableOf, Writes } from "../core/writes.ts";
import { applyJobEvent, jobs } from "./job-row.ts";
import { applyNumbers } from "./number.ts";
import { refreshPipelines } from "./refresh.ts";
import { createPipelineTables, pipelines, pipelineTables } from "./table.ts";

const events = { ...pipelineEvents, ...jobEvents, ...localIdEvents, ...purgeEvents };
type Handled = Recorded<EventOf<typeof events>>;

/** The file's own words for a job, which only who runs it reads. */
type SpecRow = Readonly<{ job_id: string; pipeline_id: string; project_id: string; spec: object }>;
const specs = tableOf<SpecRow>({ name: "pipeline_job_spec", key: ["job_id"] });

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
  const rows = new Writes(tx);
  const touched = new Set<string>();
  let numbers: Extract<Handled, { type: "LocalIdAssigned" }>[] = [];
  // Numbers are given to what there is by then, and to nothing else that is written here.
  const settle = async (): Promise<void> => {
    await rows.written();
    if (numbers.length > 0) await applyNumbers(tx, numbers);
    numbers = [];
  };
  for (const event of batch) {
    switch (event.type) {
      case "LocalIdAssigned":
        numbers.push(event);
        continue;
      case "ProjectPurged":
        await settle();
        await purge(tx, event.data.projectId);
        continue;
      case "PipelineDeleted":
        await settle();
        await remove(tx, event.data.pipelineId, event.data.projectId);
        break;
      default:
        if (isOfPipeline(event)) applyPipelineEvent(rows, event);
        else applyJobEvent(rows, event as Parameters<typeof applyJobEvent>[1]);
    }
    touched.add(event.data.pipelineId);
  }
  await settle();
  await refreshPipelines(tx, [...touched]);
}

const isOfPipeline = (event: Handled): event is Recorded<PipelineEvent> =>
  Object.hasOwn(pipelineEvents, event.type);

async function purge(tx: Tx, projectId: string): Promise<void> {
  await dropRows(tx, projectId, {
    pipeline: "project_id",
    pipeline_job: "project_id",
    pipeline_job_spec: "project_id",
    pipeline_count: "project_id",
  });
}

function applyPipelineEvent(rows: Writes, { type, data }: PipelineEvent): void {
  switch (type) {
    case "PipelineCreated":
      rows.put(pipelines, createdRow(data));
      return;
    case "PipelineJobsPlanned":
      plan(rows, data);
      return;
    case "PipelineFinished": {
      const finished_at = new Date(data.finishedAt);
      const end = { finished_at, duration_seconds: data.durationSeconds };
      const change = { ...end, failure_reason: data.failureReason };
      rows.change(pipelines, { id: data.pipelineId }, change);
      return;
    }
    case "PipelineRestarted": {
      const unfinished = { finished_at: null, duration_seconds: null, failure_reason: null };
      rows.change(pipelines, { id: data.pipelineId }, unfinished);
      return;
    }
    case "PipelineDeleted":
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
    merge_request: data.mergeRequest,
    merge_request_project_id: data.mergeRequest?.projectId ?? null,
    merge_request_number: data.mergeRequest?.projectId ? data.mergeRequest.localId : null,
    started_by_id: data.startedBy?.id ?? null,
    variables: data.variables,
    name: data.name,
    auto_cancel: data.autoCancel,
    jobs: data.jobs,
    failure_reason: data.failureReason,
    status: failed ? ("FAILED" as const) : ("CREATED" as const),
    finished_at: null,
    duration_seconds: null,
    created_at: new Date(data.createdAt),
  };
}

function plan(rows: Writes, data: Data<"PipelineJobsPlanned">): void {
  const { pipelineId: pipeline_id, projectId: project_id, from } = data;
  for (const [index, { jobId: id, spec }] of data.jobs.entries()) {
    rows.put(jobs, {
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
    });
    rows.put(specs, { job_id: id, pipeline_id, project_id, spec });
  }
}

async function remove(tx: Tx, id: string, project_id: string): Promise<void> {
  await tx("pipeline_job").where({ pipeline_id: id }).delete();
  await tx("pipeline_job_spec").where({ pipeline_id: id }).delete();
  const numbered = await tx("pipeline").where({ id }).whereNotNull("local_id").delete();
  await tx("pipeline").where({ id }).delete();
  if (numbered > 0) await tx("pipeline_count").where({ project_id }).decrement("total", 1);
}
