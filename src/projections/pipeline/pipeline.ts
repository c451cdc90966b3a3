import { localIdEvents } from "../../events/core/local-id.ts";
import { jobEvents } from "../../events/pipeline/job.ts";
import { type PipelineEvent, pipelineEvents } from "../../events/pipeline/pipeline.ts";
import { type Change, change, put, remove, removeAll } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { jobChanges } from "./job-row.ts";
import { numbered } from "./number.ts";
import { refreshStatus } from "./refresh.ts";
import { jobs, nameKeyOf, needs, pipelines, pipelineTables, specs } from "./table.ts";

const unfinished = { finished_at: null, duration_seconds: null, failure_reason: null } as const;

/** Pipelines and their jobs. The status of a pipeline is computed from those of its jobs. */
export const pipelineProjection = defineReadModel({
  name: "pipeline",
  version: 11,
  tables: pipelineTables,
  events: { ...pipelineEvents, ...jobEvents, ...localIdEvents, ...purgeEvents },
  effects: {
    PipelineCreated: ({ data }) => [
      put(pipelines, createdRow(data)),
      refreshStatus(data.pipelineId),
    ],
    PipelineJobsPlanned: ({ data }) => [...planned(data), refreshStatus(data.pipelineId)],
    PipelineFinished: ({ data: { pipelineId: id, ...data } }) => [
      change(
        pipelines,
        { id },
        {
          finished_at: new Date(data.finishedAt),
          duration_seconds: data.durationSeconds,
          failure_reason: data.failureReason,
        },
      ),
      refreshStatus(id),
    ],
    PipelineRestarted: ({ data: { pipelineId: id } }) => [
      change(pipelines, { id }, { ...unfinished, canceled: false }),
      refreshStatus(id),
    ],
    PipelineCanceled: ({ data: { pipelineId: id } }) => [
      change(pipelines, { id }, { canceled: true }),
      refreshStatus(id),
    ],
    PipelineDeleted: ({ data: { pipelineId: pipeline_id } }) => [
      ...removeAll([jobs, specs, needs], { pipeline_id }),
      remove(pipelines, { id: pipeline_id }),
    ],
    JobQueued: jobChanges,
    JobHeld: jobChanges,
    JobDelayed: jobChanges,
    JobBlocked: jobChanges,
    JobPlayed: jobChanges,
    JobAssigned: jobChanges,
    JobReturned: jobChanges,
    JobStarted: jobChanges,
    JobSucceeded: jobChanges,
    JobFailed: jobChanges,
    JobCanceled: jobChanges,
    JobSkipped: jobChanges,
    JobReset: jobChanges,
    JobTriggered: jobChanges,
    LocalIdAssigned: numbered,
    ProjectPurged: purgedFrom(pipelines, jobs, specs, needs),
  },
});

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
    warnings: data.warnings ?? [],
    status: failed ? ("FAILED" as const) : ("CREATED" as const),
    canceled: false,
    finished_at: null,
    duration_seconds: null,
    created_at: new Date(data.createdAt),
  };
}

function planned(data: Data<"PipelineJobsPlanned">): readonly Change[] {
  const { pipelineId: pipeline_id, projectId: project_id, from } = data;
  return data.jobs.flatMap(({ jobId: id, spec }, index) => {
    const job = {
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
    } as const;
    const of = { job_id: id, pipeline_id, project_id };
    const awaited = (spec.needs ?? []).map(({ job: name }) => nameKeyOf(pipeline_id, name));
    return [
      put(jobs, job),
      put(specs, { ...of, name_key: nameKeyOf(pipeline_id, spec.name), spec }),
      ...awaited.map((name_key) => put(needs, { ...of, name_key })),
    ];
  });
}
