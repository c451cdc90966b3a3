import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import type { JobId, PipelineId } from "../../events/pipeline/id.ts";
import type { JobFailureReason } from "../../events/pipeline/job.ts";
import type { JobWhen } from "../../events/pipeline/job-spec.ts";
import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import type { PipelineSource } from "../../events/pipeline/source.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { Tx } from "../core/projection.ts";
import { tableOf } from "../core/writes.ts";

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

export const pipelines = tableOf<PipelineRow>({ name: "pipeline", key: ["id"] });

/** Represents the job of this name in a pipeline: names may be too long for an index. */
export const nameKeyOf = (pipelineId: string, name: string): string =>
  deterministicId("job by name", pipelineId, name);

export const pipelineTables = [
  "pipeline",
  "pipeline_job",
  "pipeline_job_spec",
  "pipeline_job_need",
  "pipeline_count",
] as const;

export async function createPipelineTables(tx: Tx): Promise<void> {
  await createPipelineTable(tx);
  await createJobTable(tx);
  await createJobIndexes(tx);
  await tx.schema.createTable("pipeline_count", (table) => {
    table.uuid("project_id").primary();
    table.integer("total").notNullable();
  });
}

async function createPipelineTable(tx: Tx): Promise<void> {
  await tx.schema.createTable("pipeline", (table) => {
    table.uuid("id").primary();
    table.uuid("project_id").notNullable();
    table.integer("local_id");
    table.bigInteger("number");
    table.text("ref").notNullable();
    table.boolean("is_tag").notNullable();
    table.text("commit_id").notNullable();
    table.text("before_commit_id");
    table.text("source").notNullable();
    table.uuid("user_id");
    table.uuid("parent_pipeline_id");
    table.uuid("parent_job_id");
    table.jsonb("merge_request");
    table.uuid("merge_request_project_id");
    table.integer("merge_request_number");
    table.uuid("started_by_id");
    table.text("variables");
    table.text("name");
    table.text("auto_cancel").notNullable();
    table.boolean("cancel_on_failure").notNullable();
    table.integer("jobs").notNullable();
    table.text("failure_reason");
    table.text("status").notNullable();
    table.boolean("canceled").notNullable();
    table.timestamp("started_at");
    table.timestamp("finished_at");
    table.integer("duration_seconds");
    table.timestamp("created_at").notNullable();
    table.index(["project_id", "local_id"]);
    table.index(["project_id", "status", "local_id"]);
    table.index(["project_id", "ref", "local_id"]);
    table.index(["project_id", "commit_id", "local_id"]);
    table.index(["number"]);
    table.index(["parent_pipeline_id"]);
    table.index(["created_at"]);
    table.index(["merge_request_project_id", "merge_request_number", "created_at"]);
  });
}

async function createJobTable(tx: Tx): Promise<void> {
  await tx.schema.createTable("pipeline_job", (table) => {
    table.uuid("id").primary();
    table.uuid("pipeline_id").notNullable();
    table.uuid("project_id").notNullable();
    table.integer("local_id");
    table.integer("place").notNullable();
    table.text("name").notNullable();
    table.text("stage").notNullable();
    table.integer("stage_index").notNullable();
    table.text("job_when").notNullable();
    table.boolean("may_fail").notNullable();
    table.specificType("needs", "text[]");
    table.specificType("tags", "text[]").notNullable();
    table.boolean("interruptible").notNullable();
    table.text("resource_group");
    table.boolean("is_trigger").notNullable();
    table.text("environment");
    table.text("environment_name");
    table.text("status").notNullable();
    table.integer("attempt").notNullable();
    table.boolean("queued").notNullable().defaultTo(false);
    table.text("block_reason");
    table.uuid("agent_id");
    table.text("token_hash");
    table.boolean("released").notNullable().defaultTo(false);
    table.timestamp("delayed_until");
    table.uuid("played_by_id");
    table.uuid("reset_by_id");
    table.text("variables");
    table.text("failure_reason");
    table.text("failure_message");
    table.integer("exit_code");
    table.uuid("child_pipeline_id");
    table.timestamp("queued_at");
    table.timestamp("assigned_at");
    table.timestamp("started_at");
    table.timestamp("finished_at");
    table.timestamp("created_at").notNullable();
    table.index(["pipeline_id", "place"]);
    table.index(["project_id", "local_id"]);
  });
  await tx.schema.createTable("pipeline_job_spec", (table) => {
    table.uuid("job_id").primary();
    table.uuid("pipeline_id").notNullable().index();
    table.uuid("project_id").notNullable().index();
    table.uuid("name_key").notNullable().index();
    table.jsonb("spec").notNullable();
  });
  // In a table of its own: jobs move, and each time into all indexes.
  await tx.schema.createTable("pipeline_job_need", (table) => {
    table.uuid("job_id").notNullable();
    table.uuid("name_key").notNullable().index();
    table.uuid("pipeline_id").notNullable().index();
    table.uuid("project_id").notNullable().index();
    table.primary(["job_id", "name_key"]);
  });
}

/** A job moves several times, and each time into all indexes that have it: most have few jobs. */
async function createJobIndexes(tx: Tx): Promise<void> {
  // The queue is a small part of all jobs: an index of it alone stays small.
  await tx.raw(
    "create index pipeline_job_queue on pipeline_job (queued_at, place, id) where queued and not is_trigger",
  );
  // Of runs that go on: what a job fetches is found by its token.
  await tx.raw(
    "create index pipeline_job_token on pipeline_job (token_hash) where token_hash is not null",
  );
  await tx.raw(
    `create index pipeline_job_active on pipeline_job (project_id, status, pipeline_id)
     where status in ('PENDING', 'RUNNING', 'WAITING_FOR_RESOURCE')`,
  );
  // What waits for whole stages, for jobs by their names, and for a person.
  await tx.raw(
    `create index pipeline_job_staged on pipeline_job (pipeline_id, stage_index)
     where status = 'CREATED' and needs is null`,
  );
  await tx.raw(
    `create index pipeline_job_needing on pipeline_job (pipeline_id, stage_index)
     where status = 'CREATED' and needs is not null`,
  );
  await tx.raw(
    "create index pipeline_job_manual on pipeline_job (pipeline_id) where status = 'MANUAL'",
  );
  await tx.raw(
    "create index pipeline_job_agent on pipeline_job (agent_id, status) where agent_id is not null",
  );
  await tx.raw(
    `create index pipeline_job_child on pipeline_job (child_pipeline_id)
     where child_pipeline_id is not null`,
  );
}
