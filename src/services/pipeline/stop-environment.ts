import { handle, later } from "../../commands/core/handle.ts";
import { environment } from "../../commands/pipeline/environment.ts";
import { isFinished, type PipelineStatus } from "../../events/pipeline/status.ts";
import { Refusal } from "../../platform/refusal.ts";
import { lastDeployment } from "../../projections/pipeline/environment-query.ts";
import type { EnvironmentRow } from "../../projections/pipeline/environment-table.ts";
import { allJobs, findJobById, findPipelineById } from "../../projections/pipeline/query.ts";
import type { JobRow, PipelineRow } from "../../projections/pipeline/table.ts";
import { findJobRun } from "./job-run.ts";
import { environmentOfRun } from "./job-variable.ts";
import { type Initiator, playJob, restartJob } from "./lifecycle.ts";
import type { AdvanceDeps } from "./order-job.ts";
import { environmentIdOf } from "./queue-job.ts";

/**
 * Stops an environment: by the job that its last deployment names, where that exists, is one to be
 * started by hand and stops this very environment; else at once.
 *
 * @returns the log position that shows it
 * @throws Refusal 403 `environment.protected`; 422 `environment.stop_job_not_ready`
 */
export async function stopEnvironment(
  deps: AdvanceDeps,
  row: EnvironmentRow,
  initiator: Initiator,
  { force }: Readonly<{ force: boolean }>,
): Promise<bigint | undefined> {
  const stopping = force ? undefined : await stopJob(deps, row);
  const { by } = initiator;
  if (stopping === undefined || by === null) return recordStop(deps, row, initiator);
  const { pipeline, job } = stopping;
  if (row.state === "STOPPING" && !isFinished(job.status)) return undefined;
  let position: bigint | undefined;
  let held = job;
  if (isFinished(job.status)) {
    position = await restartJob(deps, pipeline, job, initiator);
    await deps.visible(position);
    held = (await findJobById(deps.db, job.id)) ?? job;
  }
  if (isUnderWay.has(held.status)) return position;
  if (held.status !== "MANUAL") throw stopJobNotReady(held);
  return later(position, await playJob(deps, pipeline, held, null, { ...initiator, by }));
}

const isUnderWay: ReadonlySet<PipelineStatus> = new Set([
  "PENDING",
  "WAITING_FOR_RESOURCE",
  "RUNNING",
]);

function stopJobNotReady({ name, status }: JobRow): Refusal {
  const message = `The job "${name}", which stops the environment, cannot be started: it is ${status}. Ask with "force" to stop the environment without it.`;
  return new Refusal("unprocessable", "environment.stop_job_not_ready", message);
}

export async function recordStop(
  { store, now }: Pick<AdvanceDeps, "store" | "now">,
  { id, project_id: projectId, name, state }: EnvironmentRow,
  { by, metadata }: Initiator,
): Promise<bigint | undefined> {
  const fields = { environmentId: id, projectId, name, state, at: now().toISOString() };
  const command = { type: "StopEnvironment", ...fields, by } as const;
  return (await handle(store, environment, { id, command, metadata })).position;
}

type StopJob = Readonly<{ pipeline: PipelineRow; job: JobRow }>;

async function stopJob(deps: AdvanceDeps, row: EnvironmentRow): Promise<StopJob | undefined> {
  const { db } = deps;
  const last = row.on_stop === null ? undefined : await lastDeployment(db, row);
  const pipeline = last && (await findPipelineById(db, last.pipeline_id));
  if (pipeline === undefined) return undefined;
  const jobs = await allJobs(db, pipeline.id);
  // Another way than by hand would stop the environment in each pipeline that deploys to it.
  const job = jobs.find(({ name, job_when }) => name === row.on_stop && job_when === "manual");
  return job !== undefined && (await stops(deps, job, row)) ? { pipeline, job } : undefined;
}

/** Another job, or one for another environment, would be played and leave this one as it is. */
async function stops(deps: AdvanceDeps, job: JobRow, row: EnvironmentRow): Promise<boolean> {
  const run = await findJobRun(deps, job);
  if (run?.spec.environment?.action !== "stop") return false;
  const named = await environmentOfRun(run);
  return named !== null && environmentIdOf(row.project_id, named.name) === row.id;
}
