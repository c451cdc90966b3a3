import { ObjectId, type UserId } from "../../events/core/ids.ts";
import type { RunEnvironment } from "../../events/pipeline/environment.ts";
import type { JobSpec } from "../../events/pipeline/job-spec.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { deploymentLevel, reaches } from "../../projections/protection/applicable.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import { actorOfJob, findJobRun, type JobRun, type VariableDeps } from "./job-run.ts";
import { environmentOfRun } from "./job-variable.ts";

/** What is ordered when the turn of a job has come, and the status that it leaves the job in. */
export type TurnOrder = Readonly<
  | {
      order: { type: "QueueJob"; environment?: RunEnvironment | undefined };
      status: PipelineStatus;
    }
  | {
      order: {
        type: "RefuseJob";
        reason: "environment_protected" | "unmet_prerequisites";
        rules: Pick<JobSpec, "allowFailure">;
      };
      status: PipelineStatus;
    }
>;

/**
 * A job for an environment is queued with its name, unless a rule protects the environment from
 * the person behind the job: such a job fails, as does one whose environment has no name when its
 * turn comes, because then no rule can be held against it.
 */
export async function turnOrder(deps: VariableDeps, row: JobRow): Promise<TurnOrder> {
  const queue = { type: "QueueJob" } as const;
  const run = row.environment === null ? undefined : await findJobRun(deps, row);
  if (run === undefined) return { order: queue, status: "PENDING" };
  const environment = await runEnvironment(run);
  if (environment === null) return refusal(run, "unmet_prerequisites");
  if (!(await mayDeploy(deps, run.project, environment))) {
    return refusal(run, "environment_protected");
  }
  return { order: { ...queue, environment }, status: "PENDING" };
}

function refusal(
  { spec: { allowFailure } }: JobRun,
  reason: "environment_protected" | "unmet_prerequisites",
): TurnOrder {
  const order = { type: "RefuseJob", reason, rules: { allowFailure } } as const;
  return { order, status: allowFailure.always ? "WARNING" : "FAILED" };
}

async function runEnvironment(run: JobRun): Promise<RunEnvironment | null> {
  const { job, pipeline, spec } = run;
  const named = await environmentOfRun(run);
  if (named === null || spec.environment === null) return null;
  const { action, tier, onStop, autoStopInSeconds } = spec.environment;
  return {
    environmentId: environmentIdOf(job.project_id, named.name),
    ...named,
    ...{ action, tier, onStop, autoStopInSeconds },
    ref: pipeline.merge_request?.sourceBranch ?? pipeline.ref,
    isTag: pipeline.is_tag,
    commitId: ObjectId.parse(pipeline.commit_id),
    userId: actorOfJob(job, pipeline),
  };
}

/** Names differ in case, as variables' scopes do. */
export const environmentIdOf = (projectId: string, name: string): string =>
  deterministicId(projectId, "environment", name);

/** Whether the rules about environments let this user deploy to one, or stop it. */
export async function mayDeploy(
  { db }: Pick<VariableDeps, "db">,
  project: ProjectRow,
  { name, userId }: Readonly<{ name: string; userId: UserId | null }>,
): Promise<boolean> {
  const level = await deploymentLevel(db, project, name);
  if (level === null) return true;
  const role = await actingRole(db, project, userId);
  return role !== undefined && reaches(role, level);
}

/** @throws Refusal 403 `environment.protected` when the job is for an environment the user may not deploy to */
export async function mustMayDeploy(
  deps: VariableDeps,
  row: JobRow,
  userId: UserId | null,
): Promise<void> {
  if (!(await mayRun(deps, row, userId))) throw environmentProtected();
}

/** Whether this user may start the job, as far as its environment is concerned. */
export async function mayRun(
  deps: VariableDeps,
  row: JobRow,
  userId: UserId | null,
): Promise<boolean> {
  if (row.environment === null) return true;
  const [run, project] = await Promise.all([
    findJobRun(deps, row),
    findProjectById(deps.db, row.project_id),
  ]);
  const environment = run && (await environmentOfRun(run));
  if (project === undefined || !environment) return true;
  return mayDeploy(deps, project, { name: environment.name, userId });
}

export function environmentProtected(): Refusal {
  const message = "A protection rule of the environment does not let you deploy there.";
  return new Refusal("forbidden", "environment.protected", message);
}
