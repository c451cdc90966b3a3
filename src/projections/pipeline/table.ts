import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import type { JobId, PipelineId } from "../../events/pipeline/id.ts";
import type { JobFailureReason } from "../../events/pipeline/job.ts";
import type { JobWhen } from "../../events/pipeline/job-spec.ts";
import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import type { PipelineSource } from "../../events/pipeline/source.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

/** Of those that have a number. */
const pipelineCounts = defineTable({
  name: "pipeline_count",
  columns: { project_id: column<ProjectId>("uuid"), total: "integer" },
  key: ["project_id"],
});

export const pipelines = defineTable({
  name: "pipeline",
  columns: {
    id: column<PipelineId>("uuid"),
    project_id: column<ProjectId>("uuid"),
    /** Number in the project; null for a moment after it was created, and then it is not listed. */
    local_id: "integer null",
    /** Number in the whole service. */
    number: "bigint null",
    ref: "text",
    is_tag: "boolean",
    commit_id: "text",
    before_commit_id: "text null",
    source: column<PipelineSource>("text"),
    user_id: column<UserId | null>("uuid null"),
    parent_pipeline_id: column<PipelineId | null>("uuid null"),
    parent_job_id: column<JobId | null>("uuid null"),
    merge_request: column<PipelineOrigin["mergeRequest"]>("jsonb null"),
    /** The target project of the merge request and the number there. */
    merge_request_project_id: column<ProjectId | null>("uuid null"),
    merge_request_number: "integer null",
    started_by_id: "uuid null",
    variables: column<Sealed | null>("text null"),
    name: "text null",
    auto_cancel: column<"conservative" | "interruptible" | "none">("text"),
    cancel_on_failure: "boolean",
    /** How many it has. */
    jobs: "integer",
    failure_reason: "text null",
    warnings: column<string[]>("text[]"),
    status: column<PipelineStatus>("text"),
    /** As a whole, and not restarted since. */
    canceled: "boolean",
    /** Of its first job. */
    started_at: "timestamptz null",
    finished_at: "timestamptz null",
    duration_seconds: "integer null",
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: [
    "(project_id, local_id)",
    "(project_id, status, local_id)",
    "(project_id, ref, local_id)",
    "(project_id, commit_id, local_id)",
    "(number)",
    "(parent_pipeline_id)",
    "(created_at)",
    "(merge_request_project_id, merge_request_number, created_at)",
  ],
  counts: [{ table: pipelineCounts, where: "local_id is not null" }],
});

export type PipelineRow = RowOf<typeof pipelines>;

/** A job moves several times, and each time into all indexes that have it: most have few jobs. */
export const jobs = defineTable({
  name: "pipeline_job",
  columns: {
    id: column<JobId>("uuid"),
    pipeline_id: column<PipelineId>("uuid"),
    project_id: column<ProjectId>("uuid"),
    local_id: "integer null",
    /** Among the jobs of its pipeline, from 0. */
    place: "integer",
    name: "text",
    stage: "text",
    stage_index: "integer",
    job_when: column<JobWhen>("text"),
    may_fail: "boolean",
    needs: "text[] null",
    tags: "text[]",
    interruptible: "boolean",
    resource_group: "text null",
    is_trigger: "boolean",
    /** Name of its environment as the file says it; null for none. */
    environment: "text null",
    /** The same with variables filled in, of the present run. */
    environment_name: "text null",
    status: column<PipelineStatus>("text"),
    attempt: "integer",
    /** An agent may take it: it is PENDING, or waits because no agent fits. */
    queued: "boolean default false",
    block_reason: column<"RESOURCE_GROUP" | "NO_AGENT" | null>("text null"),
    agent_id: "uuid null",
    /** SHA-256 of the token of the present run, hex; null when it has none or ended. */
    token_hash: "text null",
    released: "boolean default false",
    delayed_until: "timestamptz null",
    played_by_id: column<UserId | null>("uuid null"),
    /** Who last restarted it; it has their rights from then on. */
    reset_by_id: column<UserId | null>("uuid null"),
    /** Given when it was started by hand. */
    variables: column<Sealed | null>("text null"),
    failure_reason: column<JobFailureReason | null>("text null"),
    /** More than the reason says. */
    failure_message: "text null",
    exit_code: "integer null",
    child_pipeline_id: column<PipelineId | null>("uuid null"),
    queued_at: "timestamptz null",
    assigned_at: "timestamptz null",
    started_at: "timestamptz null",
    finished_at: "timestamptz null",
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: [
    "(pipeline_id, place)",
    "(project_id, local_id)",
    // The queue is a small part of all jobs: an index of it alone stays small.
    "(queued_at, place, id) where queued and not is_trigger",
    // Of runs that go on: what a job fetches is found by its token.
    "(token_hash) where token_hash is not null",
    `(project_id, status, pipeline_id)
     where status in ('PENDING', 'RUNNING', 'WAITING_FOR_RESOURCE')`,
    // What waits for whole stages, for jobs by their names, and for a person.
    "(pipeline_id, stage_index) where status = 'CREATED' and needs is null",
    "(pipeline_id, stage_index) where status = 'CREATED' and needs is not null",
    "(pipeline_id) where status = 'MANUAL'",
    "(agent_id, status) where agent_id is not null",
    "(child_pipeline_id) where child_pipeline_id is not null",
  ],
});

export type JobRow = RowOf<typeof jobs>;

const ofJob = {
  job_id: "uuid",
  pipeline_id: "uuid",
  project_id: "uuid",
  /** Of the job itself, or of the one that it waits for; see nameKeyOf. */
  name_key: "uuid",
} as const;
const byJob = ["(pipeline_id)", "(project_id)", "(name_key)"];

/** The file's own words for a job, which only who runs it reads. */
export const specs = defineTable({
  name: "pipeline_job_spec",
  columns: { ...ofJob, spec: column<object>("jsonb") },
  key: ["job_id"],
  indexes: byJob,
});

/** A job waits for another one by its name. In a table of its own: jobs move, and each time into all indexes. */
export const needs = defineTable({
  name: "pipeline_job_need",
  columns: ofJob,
  key: ["job_id", "name_key"],
  indexes: byJob,
});

export const pipelineTables = [pipelines, jobs, specs, needs, pipelineCounts] as const;

/** Represents the job of this name in a pipeline: names may be too long for an index. */
export const nameKeyOf = (pipelineId: string, name: string): string =>
  deterministicId("job by name", pipelineId, name);
