import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { EnvironmentState, RunEnvironment } from "../../events/pipeline/environment.ts";
import type { JobId, PipelineId } from "../../events/pipeline/id.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { defineTable } from "../core/table.ts";

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

export const environments = defineTable<EnvironmentRow>({
  name: "environment",
  columns: {
    id: "uuid",
    project_id: "uuid",
    name: "text",
    tier: "text null",
    state: "text",
    url: "text null",
    deployments: "integer",
    last_number: "integer null",
    ref: "text null",
    is_tag: "boolean null",
    on_stop: "text null",
    auto_stop_at: "timestamptz null",
    created_at: "timestamptz",
    updated_at: "timestamptz",
  },
  key: ["id"],
  // A run that is queued creates it, unless it is there.
  kept: ["name", "tier", "state", "url", "deployments", "created_at", "updated_at"],
  indexes: [
    "(project_id, name)",
    "(project_id, state, name)",
    "(project_id, ref)",
    "(auto_stop_at) where state = 'AVAILABLE'",
  ],
});

export const deployments = defineTable<DeploymentRow>({
  name: "deployment",
  columns: {
    job_id: "uuid",
    attempt: "integer",
    environment_id: "uuid",
    project_id: "uuid",
    pipeline_id: "uuid",
    number: "integer null",
    action: "text",
    status: "text",
    ref: "text",
    is_tag: "boolean",
    commit_id: "text",
    user_id: "uuid null",
    tier: "text null",
    url: "text null",
    on_stop: "text null",
    auto_stop_seconds: "integer null",
    created_at: "timestamptz",
    started_at: "timestamptz null",
    finished_at: "timestamptz null",
  },
  key: ["job_id", "attempt"],
  indexes: ["(project_id)", "(environment_id, number)", "(environment_id, status, number)"],
});

/** Of runs that have not ended. */
export const openStatuses: readonly PipelineStatus[] = ["PENDING", "RUNNING"];
