import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { EnvironmentState, RunEnvironment } from "../../events/pipeline/environment.ts";
import type { JobId, PipelineId } from "../../events/pipeline/id.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import type { Tx } from "../core/projection.ts";
import { tableOf } from "../core/writes.ts";

export type EnvironmentRow = Readonly<{
  id: string;
  project_id: ProjectId;
  name: string;
  tier: string | null;
  state: EnvironmentState;
  url: string | null;
  /** How many deployments it had: the number of the last one. */
  deployments: number;
  /** Of the last deployment that succeeded; null when none did. */
  last_number: number | null;
  /** Of the same: its branch or tag, and the job of its pipeline that stops the environment. */
  ref: string | null;
  is_tag: boolean | null;
  on_stop: string | null;
  auto_stop_at: Date | null;
  created_at: Date;
  updated_at: Date;
}>;

/** A run of a job for an environment. Those that deploy are numbered. */
export type DeploymentRow = Readonly<{
  job_id: JobId;
  attempt: number;
  environment_id: string;
  project_id: ProjectId;
  pipeline_id: PipelineId;
  /** From 1 in its environment; null for a run that deploys nothing. */
  number: number | null;
  action: RunEnvironment["action"];
  status: PipelineStatus;
  ref: string;
  is_tag: boolean;
  commit_id: string;
  user_id: UserId | null;
  tier: string | null;
  url: string | null;
  on_stop: string | null;
  auto_stop_seconds: number | null;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
}>;

export const environments = tableOf<EnvironmentRow>({ name: "environment", key: ["id"] });
export const deployments = tableOf<DeploymentRow>({
  name: "deployment",
  key: ["job_id", "attempt"],
});

/** Of runs that have not ended. */
export const openStatuses: readonly PipelineStatus[] = ["PENDING", "RUNNING"];

export const environmentTables = ["environment", "deployment"] as const;

export async function createEnvironmentTables(tx: Tx): Promise<void> {
  await tx.schema.createTable("environment", (table) => {
    table.uuid("id").primary();
    table.uuid("project_id").notNullable();
    table.text("name").notNullable();
    table.text("tier");
    table.text("state").notNullable();
    table.text("url");
    table.integer("deployments").notNullable();
    table.integer("last_number");
    table.text("ref");
    table.boolean("is_tag");
    table.text("on_stop");
    table.timestamp("auto_stop_at");
    table.timestamp("created_at").notNullable();
    table.timestamp("updated_at").notNullable();
    table.index(["project_id", "name"]);
    table.index(["project_id", "state", "name"]);
    table.index(["project_id", "ref"]);
  });
  await tx.raw(
    "create index environment_auto_stop on environment (auto_stop_at) where state = 'AVAILABLE'",
  );
  await tx.schema.createTable("deployment", (table) => {
    table.uuid("job_id").notNullable();
    table.integer("attempt").notNullable();
    table.uuid("environment_id").notNullable();
    table.uuid("project_id").notNullable().index();
    table.uuid("pipeline_id").notNullable();
    table.integer("number");
    table.text("action").notNullable();
    table.text("status").notNullable();
    table.text("ref").notNullable();
    table.boolean("is_tag").notNullable();
    table.text("commit_id").notNullable();
    table.uuid("user_id");
    table.text("tier");
    table.text("url");
    table.text("on_stop");
    table.integer("auto_stop_seconds");
    table.timestamp("created_at").notNullable();
    table.timestamp("started_at");
    table.timestamp("finished_at");
    table.primary(["job_id", "attempt"]);
    table.index(["environment_id", "number"]);
    table.index(["environment_id", "status", "number"]);
  });
}
