import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { EnvironmentState, RunEnvironment } from "../../events/pipeline/environment.ts";
import type { JobId, PipelineId } from "../../events/pipeline/id.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

export const environments = defineTable({
  name: "environment",
  columns: {
    id: "uuid",
    project_id: column<ProjectId>("uuid"),
    name: "text",
    tier: "text null",
    state: column<EnvironmentState>("text"),
    url: "text null",
    /** How many deployments it had: the number of the last one. */
    deployments: "integer",
    /** Of the last deployment that succeeded; null when none did. */
    last_number: "integer null",
    /** Of the same: its branch or tag, and the job of its pipeline that stops the environment. */
    ref: "text null",
    is_tag: "boolean null",
    on_stop: "text null",
    auto_stop_at: "timestamptz null",
    created_at: "timestamptz",
    updated_at: "timestamptz",
  },
  key: ["id"],
  // A run that is queued creates it, unless it is there.
  writtenOnce: ["name", "tier", "state", "url", "deployments", "created_at", "updated_at"],
  indexes: [
    "(project_id, name)",
    "(project_id, state, name)",
    "(project_id, ref)",
    "(auto_stop_at) where state = 'AVAILABLE'",
  ],
});

export type EnvironmentRow = RowOf<typeof environments>;

/** A run of a job for an environment. Those that deploy are numbered. */
export const deployments = defineTable({
  name: "deployment",
  columns: {
    job_id: column<JobId>("uuid"),
    attempt: "integer",
    environment_id: "uuid",
    project_id: column<ProjectId>("uuid"),
    pipeline_id: column<PipelineId>("uuid"),
    /** From 1 in its environment; null for a run that deploys nothing. */
    number: "integer null",
    action: column<RunEnvironment["action"]>("text"),
    status: column<PipelineStatus>("text"),
    ref: "text",
    is_tag: "boolean",
    commit_id: "text",
    user_id: column<UserId | null>("uuid null"),
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

export type DeploymentRow = RowOf<typeof deployments>;

/** Of runs that have not ended. */
export const openStatuses: readonly PipelineStatus[] = ["PENDING", "RUNNING"];
