import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import type { JobId, PipelineId } from "../../events/pipeline/id.ts";
import type { JobFailureReason } from "../../events/pipeline/job.ts";
import type { JobWhen } from "../../events/pipeline/job-spec.ts";
import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import type { PipelineSource } from "../../events/pipeline/source.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { defineTable } from "../core/table.ts";

export type PipelineRow = Readonly<{
  id: PipelineId;
  project_id: ProjectId;
  /** Number in the project; null for a moment after it was created, and then it is not listed. */
  local_id: number | null;
  /** Number in the whole service. */
  number: bigint | null;
  ref: string;
  is_tag: boolean;
  commit_id: string;
  before_commit_id: string | null;
  source: PipelineSource;
  user_id: UserId | null;
  parent_pipeline_id: PipelineId | null;
  parent_job_id: JobId | null;
  merge_request: PipelineOrigin["mergeRequest"];
  /** The target project of the merge request and the number there. */
  merge_request_project_id: ProjectId | null;
  merge_request_number: number | null;
  started_by_id: string | null;
  variables: Sealed | null;
  name: string | null;
  auto_cancel: "conservative" | "interruptible" | "none";
  cancel_on_failure: boolean;
  /** How many it has. */
  jobs: number;
  failure_reason: string | null;
  status: PipelineStatus;
  /** As a whole, and not restarted since. */
  canceled: boolean;
  /** Of its first job. */
  started_at: Date | null;
  finished_at: Date | null;
  duration_seconds: number | null;
  created_at: Date;
}>;

export type JobRow = Readonly<{
  id: JobId;
  pipeline_id: PipelineId;
  project_id: ProjectId;
  local_id: number | null;
  /** Among the jobs of its pipeline, from 0. */
  place: number;
  name: string;
  stage: string;
  stage_index: number;
  job_when: JobWhen;
  may_fail: boolean;
  needs: readonly string[] | null;
  tags: readonly string[];
  interruptible: boolean;
  resource_group: string | null;
  is_trigger: boolean;
  /** Name of its environment as the file says it; null for none. */
  environment: string | null;
  /** The same with variables filled in, of the present run. */
  environment_name: string | null;
  status: PipelineStatus;
  attempt: number;
  /** An agent may take it: it is PENDING, or waits because no agent fits. */
  queued: boolean;
  block_reason: "RESOURCE_GROUP" | "NO_AGENT" | null;
  agent_id: string | null;
  /** SHA-256 of the token of the present run, hex; null when it has none or ended. */
  token_hash: string | null;
  released: boolean;
  delayed_until: Date | null;
  played_by_id: UserId | null;
  /** Who last restarted it; it has their rights from then on. */
  reset_by_id: UserId | null;
  /** Given when it was started by hand. */
  variables: Sealed | null;
  failure_reason: JobFailureReason | null;
  /** More than the reason says. */
  failure_message: string | null;
  exit_code: number | null;
  child_pipeline_id: PipelineId | null;
  queued_at: Date | null;
  assigned_at: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
  created_at: Date;
}>;

type PipelineCountRow = Readonly<{ project_id: ProjectId; total: number }>;

/** Of those that have a number. */
const pipelineCounts = defineTable<PipelineCountRow>({
  name: "pipeline_count",
  columns: { project_id: "uuid", total: "integer" },
  key: ["project_id"],
});

export const pipelines = defineTable<PipelineRow>({
  name: "pipeline",
  columns: {
    id: "uuid",
    project_id: "uuid",
    local_id: "integer null",
    number: "bigint null",
    ref: "text",
    is_tag: "boolean",
    commit_id: "text",
    before_commit_id: "text null",
    source: "text",
    user_id: "uuid null",
    parent_pipeline_id: "uuid null",
    parent_job_id: "uuid null",
    merge_request: "jsonb null",
    merge_request_project_id: "uuid null",
    merge_request_number: "integer null",
    started_by_id: "uuid null",
    variables: "text null",
    name: "text null",
    auto_cancel: "text",
    cancel_on_failure: "boolean",
    jobs: "integer",
    failure_reason: "text null",
    status: "text",
    canceled: "boolean",
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

/** A job moves several times, and each time into all indexes that have it: most have few jobs. */
export const jobs = defineTable<JobRow>({
  name: "pipeline_job",
  columns: {
    id: "uuid",
    pipeline_id: "uuid",
    project_id: "uuid",
    local_id: "integer null",
    place: "integer",
    name: "text",
    stage: "text",
    stage_index: "integer",
    job_when: "text",
    may_fail: "boolean",
    needs: "text[] null",
    tags: "text[]",
    interruptible: "boolean",
    resource_group: "text null",
    is_trigger: "boolean",
    environment: "text null",
    environment_name: "text null",
    status: "text",
    attempt: "integer",
    queued: "boolean default false",
    block_reason: "text null",
    agent_id: "uuid null",
    token_hash: "text null",
    released: "boolean default false",
    delayed_until: "timestamptz null",
    played_by_id: "uuid null",
    reset_by_id: "uuid null",
    variables: "text null",
    failure_reason: "text null",
    failure_message: "text null",
    exit_code: "integer null",
    child_pipeline_id: "uuid null",
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

type OfJob = Readonly<{
  job_id: string;
  pipeline_id: string;
  project_id: string;
  /** Of the job itself, or of the one that it waits for; see nameKeyOf. */
  name_key: string;
}>;

const ofJob = { job_id: "uuid", pipeline_id: "uuid", project_id: "uuid", name_key: "uuid" };
const byJob = ["(pipeline_id)", "(project_id)", "(name_key)"];

/** The file's own words for a job, which only who runs it reads. */
export const specs = defineTable<OfJob & Readonly<{ spec: object }>>({
  name: "pipeline_job_spec",
  columns: { ...ofJob, spec: "jsonb" },
  key: ["job_id"],
  indexes: byJob,
});

/** A job waits for another one by its name. In a table of its own: jobs move, and each time into all indexes. */
export const needs = defineTable<OfJob>({
  name: "pipeline_job_need",
  columns: ofJob,
  key: ["job_id", "name_key"],
  indexes: byJob,
});

export const pipelineTables = [pipelines, jobs, specs, needs, pipelineCounts] as const;

/** Represents the job of this name in a pipeline: names may be too long for an index. */
export const nameKeyOf = (pipelineId: string, name: string): string =>
  deterministicId("job by name", pipelineId, name);
