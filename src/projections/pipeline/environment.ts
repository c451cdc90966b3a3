import type { EventOf, Recorded } from "../../events/core/event.ts";
import { environmentEvents, type RunEnvironment } from "../../events/pipeline/environment.ts";
import { type JobEvent, jobEvents } from "../../events/pipeline/job.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import {
  createEnvironmentTables,
  type DeploymentRow,
  type EnvironmentRow,
  environmentTables,
  openStatuses,
} from "./environment-table.ts";

const { JobQueued, JobStarted, JobSucceeded, JobFailed, JobCanceled } = jobEvents;
const runEvents = { JobQueued, JobStarted, JobSucceeded, JobFailed, JobCanceled };
const events = { ...runEvents, ...environmentEvents, ...purgeEvents };
type Handled = Recorded<EventOf<typeof events>>;
type RunEvent = Extract<JobEvent, { type: keyof typeof runEvents }>;

/** Environments and the runs of jobs that are for them: what was deployed where, when, by whom. */
export const environmentProjection = defineProjection({
  name: "environment",
  version: 3,
  tables: environmentTables,
  create: createEnvironmentTables,
  events,
  handlers: {
    JobQueued: one,
    JobStarted: one,
    JobSucceeded: one,
    JobFailed: one,
    JobCanceled: one,
    EnvironmentStopped: one,
    EnvironmentDeleted: one,
    ProjectPurged: one,
  },
  // Most jobs are for no environment: one look for a batch finds those that are.
  applyAll: apply,
});

function one(tx: Tx, event: Handled): Promise<void> {
  return apply(tx, [event]);
}

const isOfRun = (event: Handled): event is Extract<Handled, RunEvent> => event.type in runEvents;

async function apply(tx: Tx, batch: readonly Handled[]): Promise<void> {
  const runs = batch.filter(isOfRun);
  const jobIds = [...new Set(runs.map(({ data }) => data.jobId as string))];
  const known = new Set<string>(jobIds.length === 0 ? [] : await deploying(tx, jobIds));
  for (const event of batch) {
    if (!isOfRun(event)) {
      await applyToEnvironment(tx, event);
      continue;
    }
    if (event.type === "JobQueued" && event.data.environment !== undefined) {
      known.add(event.data.jobId);
      await queue(tx, event.data, event.data.environment);
    } else if (known.has(event.data.jobId)) await applyToRun(tx, event);
  }
}

/** Those of the jobs that have a run which is for an environment. */
async function deploying(tx: Tx, jobIds: readonly string[]): Promise<readonly string[]> {
  const runs = tx("deployment").distinct().pluck("job_id");
  // Nearly always one, for which Postgres keeps a plan; it makes one anew for each list.
  if (jobIds.length === 1) return runs.where({ job_id: jobIds[0] });
  return runs.whereRaw("job_id = any(?)", [[...jobIds]]);
}

async function applyToEnvironment(
  tx: Tx,
  { type, data }: Exclude<Handled, RunEvent>,
): Promise<void> {
  switch (type) {
    case "EnvironmentStopped": {
      const stopped = { state: "STOPPED", auto_stop_at: null } as const;
      await touch(tx, data.environmentId, stopped, data.stoppedAt);
      return;
    }
    case "EnvironmentDeleted":
      await forget(tx, data.environmentId, data.deletedAt);
      return;
    case "ProjectPurged":
      await dropRows(tx, data.projectId, { environment: "project_id", deployment: "project_id" });
      return;
  }
}

/**
 * Deletes the deployments that have ended. A run that was queued while the environment was deleted creates it
 * anew: it is as after the first run that is for it.
 */
async function forget(tx: Tx, id: string, at: string): Promise<void> {
  const runs = () => tx("deployment").where({ environment_id: id });
  await runs().whereNotIn("status", openStatuses).delete();
  if ((await runs().first("job_id")) === undefined) {
    await tx("environment").where({ id }).delete();
    return;
  }
  await tx.raw(
    `update deployment set number = numbered.place
     from (select job_id, attempt, row_number() over (order by number)::int as place
           from deployment where environment_id = ? and number is not null) as numbered
     where deployment.job_id = numbered.job_id and deployment.attempt = numbered.attempt`,
    [id],
  );
  const [counted] = await runs().whereNotNull("number").count<{ count: unknown }[]>();
  const last = { last_number: null, ref: null, is_tag: null, on_stop: null, auto_stop_at: null };
  const fresh = { state: "AVAILABLE", deployments: Number(counted?.count ?? 0), ...last } as const;
  await touch(tx, id, fresh, at);
}

type Data<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>["data"];

async function queue(
  tx: Tx,
  { jobId: job_id, pipelineId: pipeline_id, projectId, attempt, queuedAt }: Data<"JobQueued">,
  environment: RunEnvironment,
): Promise<void> {
  const { environmentId: id, name, tier, url, action, onStop: on_stop } = environment;
  const at = new Date(queuedAt);
  const times = { created_at: at, updated_at: at };
  const project_id = projectId;
  const fresh = { id, project_id, name, tier, state: "AVAILABLE", url, deployments: 0, ...times };
  await tx("environment").insert(fresh).onConflict("id").ignore();
  if (action === "stop") {
    await tx("environment").where({ id, state: "AVAILABLE" }).update({ state: "STOPPING" });
  }
  const state = { status: "PENDING", created_at: at, started_at: null, finished_at: null };
  const run = {
    ...{ job_id, attempt, environment_id: id, project_id, pipeline_id, action, tier, url, on_stop },
    ref: environment.ref,
    is_tag: environment.isTag,
    commit_id: environment.commitId,
    user_id: environment.userId,
    auto_stop_seconds: environment.autoStopInSeconds,
    ...state,
  };
  // Delivered again, it keeps its number.
  const [added]: readonly Pick<DeploymentRow, "number">[] = await tx("deployment")
    .insert(run)
    .onConflict(["job_id", "attempt"])
    .merge(Object.keys(state))
    .returning("number");
  if (action === "start" && added?.number === null) await numberDeployment(tx, id, run);
}

async function numberDeployment(
  tx: Tx,
  id: string,
  { job_id, attempt }: Pick<DeploymentRow, "job_id" | "attempt">,
): Promise<void> {
  const [environment]: readonly Pick<EnvironmentRow, "deployments">[] = await tx("environment")
    .where({ id })
    .increment("deployments", 1)
    .returning("deployments");
  await tx("deployment").where({ job_id, attempt }).update({ number: environment?.deployments });
}

async function applyToRun(tx: Tx, { type, data }: RunEvent): Promise<void> {
  switch (type) {
    case "JobQueued":
      return;
    case "JobStarted": {
      const { jobId: job_id, attempt, startedAt } = data;
      const started = { status: "RUNNING", started_at: new Date(startedAt) };
      await tx("deployment").where({ job_id, attempt }).update(started);
      return;
    }
    case "JobSucceeded":
      if (data.environmentUrl !== undefined) {
        const { jobId: job_id, attempt, environmentUrl: url } = data;
        await tx("deployment").where({ job_id, attempt }).update({ url });
      }
      await end(tx, data, "SUCCESS", data.finishedAt);
      return;
    case "JobFailed":
      await end(tx, data, data.allowed ? "WARNING" : "FAILED", data.finishedAt);
      return;
    case "JobCanceled":
      await end(tx, data, "CANCELED", data.canceledAt);
      return;
  }
}

/** A job that was canceled names no attempt: its run that goes on is meant. */
async function end(
  tx: Tx,
  { jobId: job_id, attempt }: Readonly<{ jobId: string; attempt?: number }>,
  status: PipelineStatus,
  at: string,
): Promise<void> {
  const query = tx("deployment").where({ job_id });
  if (attempt === undefined) query.whereIn("status", openStatuses);
  else query.where({ attempt });
  const ended = { status, finished_at: new Date(at) };
  const [run]: readonly DeploymentRow[] = await query.update(ended).returning("*");
  if (run === undefined) return;
  const id = run.environment_id;
  if (run.action === "stop") {
    if (status !== "SUCCESS") await stayed(tx, id);
    else await touch(tx, id, { state: "STOPPED", auto_stop_at: null }, at);
  } else if (run.number !== null && status === "SUCCESS") {
    await touch(tx, id, deployed(run, new Date(at)), at);
  }
}

function deployed(run: DeploymentRow, at: Date): Partial<EnvironmentRow> {
  const { number, ref, is_tag, on_stop, tier, url, auto_stop_seconds: seconds } = run;
  return {
    state: "AVAILABLE",
    last_number: number,
    ...{ ref, is_tag, on_stop, tier, url },
    auto_stop_at: seconds === null ? null : new Date(at.getTime() + seconds * 1_000),
  };
}

async function touch(
  tx: Tx,
  id: string,
  change: Partial<EnvironmentRow>,
  at: string,
): Promise<void> {
  await tx("environment")
    .where({ id })
    .update({ ...change, updated_at: new Date(at) });
}

/** The job that stops it did not succeed; it is not tried again by itself. */
async function stayed(tx: Tx, id: string): Promise<void> {
  const change = { state: "AVAILABLE", auto_stop_at: null };
  await tx("environment").where({ id, state: "STOPPING" }).update(change);
}
