import type { EventOf, Recorded } from "../../events/core/event.ts";
import { localIdEvents } from "../../events/core/local-id.ts";
import { jobEvents } from "../../events/pipeline/job.ts";
import { type PipelineEvent, pipelineEvents } from "../../events/pipeline/pipeline.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { purgeEvents } from "../core/purge.ts";
import { tableOf, Writes } from "../core/writes.ts";
import { applyJobEvent, jobs } from "./job-row.ts";
import { applyNumbers } from "./number.ts";
import { refreshPipelines, type Touched, touch } from "./refresh.ts";
import { createPipelineTables, nameKeyOf, pipelines, pipelineTables } from "./table.ts";

const events = { ...pipelineEvents, ...jobEvents, ...localIdEvents, ...purgeEvents };
type Handled = Recorded<EventOf<typeof events>>;

type OfJob = Readonly<{
  job_id: string;
  pipeline_id: string;
  project_id: string;
  /** Of the job itself, or of the one that it waits for; see nameKeyOf. */
  name_key: string;
}>;

/** The file's own words for a job, which only who runs it reads. */
type SpecRow = OfJob & Readonly<{ spec: object }>;
const specs = tableOf<SpecRow>({ name: "pipeline_job_spec", key: ["job_id"] });

/** A job waits for another one by its name. */
const needs = tableOf<OfJob>({ name: "pipeline_job_need", key: ["job_id", "name_key"] });

/** Pipelines and their jobs. The status of a pipeline is computed from those of its jobs. */
export const pipelineProjection = defineProjection({
  name: "pipeline",
  version: 9,
  tables: pipelineTables,
  create: createPipelineTables,
  events,
  handlers: {
    PipelineCreated: one,
    PipelineJobsPlanned: one,
    PipelineFinished: one,
    PipelineRestarted: one,
    PipelineCanceled: one,
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
  applyAll: async (tx, batch) => {
    const rows = new Writes(tx);
    collect(rows, batch);
    await rows.written();
  },
  statements: async (db, batch) => {
    const rows = new Writes(db);
    collect(rows, batch);
    return rows.statements();
  },
});

async function one(tx: Tx, event: Handled): Promise<void> {
  const rows = new Writes(tx);
  collect(rows, [event]);
  await rows.written();
}

function collect(rows: Writes, batch: readonly Handled[]): void {
  const touched = new Map<string, Touched>();
  let numbers: Extract<Handled, { type: "LocalIdAssigned" }>[] = [];
  // Numbers are given to what there is by then, and to nothing else that is written here.
  const settle = (): void => {
    applyNumbers(rows, numbers);
    numbers = [];
  };
  for (const event of batch) {
    if (event.type === "LocalIdAssigned") {
      numbers.push(event);
      continue;
    }
    if (event.type === "ProjectPurged") {
      settle();
      purge(rows, event.data.projectId);
      continue;
    }
    // An assigned job stays pending, so its pipeline shows what it did.
    if (event.type === "JobAssigned") {
      applyJobEvent(rows, event);
      continue;
    }
    const { pipelineId } = event.data;
    const known = touched.get(pipelineId) ?? { startedAt: null, isReset: false };
    touched.set(pipelineId, known);
    if (event.type === "PipelineDeleted") {
      settle();
      remove(rows, pipelineId, event.data.projectId);
    } else if (isOfPipeline(event)) applyPipelineEvent(rows, event);
    else {
      const ofJob = event as Parameters<typeof applyJobEvent>[1];
      applyJobEvent(rows, ofJob);
      touch(known, ofJob);
    }
  }
  settle();
  refreshPipelines(rows, touched);
}

const isOfPipeline = (event: Handled): event is Recorded<PipelineEvent> =>
  Object.hasOwn(pipelineEvents, event.type);

function purge(rows: Writes, project_id: string): void {
  for (const table of pipelineTables) rows.run((db) => db(table).where({ project_id }).delete());
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
      rows.change(pipelines, { id: data.pipelineId }, { ...unfinished, canceled: false });
      return;
    }
    case "PipelineCanceled":
      rows.change(pipelines, { id: data.pipelineId }, { canceled: true });
      return;
    case "PipelineDeleted":
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
    cancel_on_failure: data.cancelOnFailure ?? false,
    jobs: data.jobs,
    failure_reason: data.failureReason,
    status: failed ? ("FAILED" as const) : ("CREATED" as const),
    canceled: false,
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
    const of = { job_id: id, pipeline_id, project_id };
    rows.put(specs, { ...of, name_key: nameKeyOf(pipeline_id, spec.name), spec });
    for (const { job } of spec.needs ?? []) {
      rows.put(needs, { ...of, name_key: nameKeyOf(pipeline_id, job) });
    }
  }
}

function remove(rows: Writes, id: string, project_id: string): void {
  for (const table of ["pipeline_job", "pipeline_job_spec", "pipeline_job_need"]) {
    rows.run((db) => db(table).where({ pipeline_id: id }).delete());
  }
  rows.run((db) =>
    db.raw(
      `with gone as (delete from pipeline where id = ? returning local_id)
       update pipeline_count set total = total - 1
       from gone where gone.local_id is not null and pipeline_count.project_id = ?`,
      [id, project_id],
    ),
  );
}
