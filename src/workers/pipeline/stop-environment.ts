import { z } from "zod";

import { handle, later } from "../../commands/core/handle.ts";
import { environment } from "../../commands/pipeline/environment.ts";
import type { UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { bySystem } from "../../events/core/system.ts";
import { isFinished, type PipelineStatus } from "../../events/pipeline/status.ts";
import { repositoryEvents } from "../../events/repository/repository.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import {
  environmentsOfBranch,
  expiredEnvironments,
  lastDeployment,
} from "../../projections/pipeline/environment-query.ts";
import type { EnvironmentRow } from "../../projections/pipeline/environment-table.ts";
import { allJobs, findJobById, findPipelineById } from "../../projections/pipeline/query.ts";
import type { JobRow, PipelineRow } from "../../projections/pipeline/table.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { reaches } from "../../projections/protection/applicable.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import type { WorkerDeps } from "../core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
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

async function recordStop(
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

const stoppedAtOnce = 100;

/**
 * Stops environments whose `auto_stop_in` is over, with the rights of who deployed last. One that
 * cannot be stopped does not keep the others from it.
 */
export async function sweepExpiredEnvironments(deps: WorkerDeps): Promise<void> {
  for (const row of await expiredEnvironments(deps.db, deps.now(), stoppedAtOnce)) {
    await stopByItself(deps, row, `${row.auto_stop_at?.getTime()}`).catch((error: unknown) =>
      deps.log.error({ err: error, environmentId: row.id }, "environment is not stopped"),
    );
  }
}

async function stopByItself(deps: WorkerDeps, row: EnvironmentRow, cause: string): Promise<void> {
  const last = await lastDeployment(deps.db, row);
  const commandId = deterministicId("stop environment", row.id, row.last_number ?? 0, cause);
  const metadata = bySystem({ commandId }, deps.now().toISOString());
  const initiator = { by: await deployer(deps, row, last?.user_id ?? null), metadata };
  try {
    await deps.visible(await stopEnvironment(deps, row, initiator, { force: false }));
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
    // Who deployed may not stop it any more, or its job cannot run: it counts as stopped all the same.
    const repeated = { ...metadata, commandId: deterministicId(commandId, "by itself") };
    await deps.visible(await recordStop(deps, row, { by: null, metadata: repeated }));
  }
}

/** Who deployed, while they still may develop in the project; else null: no job runs in their name. */
async function deployer(
  { db }: WorkerDeps,
  row: EnvironmentRow,
  userId: UserId | null,
): Promise<UserId | null> {
  const project = userId && (await findProjectById(db, row.project_id));
  const role = project ? await actingRole(db, project, userId) : undefined;
  return role !== undefined && reaches(role, "DEVELOPER") ? userId : null;
}

const queue = "environment-stop";

/** An environment of a branch ends with the branch, where a job is named that stops it. */
export const environmentBranch: Reactor = {
  name: "environment-branch",
  types: new Set(["BranchDeleted"]),
  react: async ({ id, data, stream, position }) => {
    const { branch } = repositoryEvents.BranchDeleted.parse(data);
    const projectId = idInStream(stream);
    return [{ queue, id, data: { projectId, branch, causeId: id, position: String(position) } }];
  },
};

export const environmentStopWorker = defineWorker({
  queue,
  concurrency: 1,
  payload: z.object({
    projectId: z.uuid(),
    branch: z.string(),
    causeId: z.string(),
    position: z.string(),
  }),
  async run({ projectId, branch, causeId, position }, deps) {
    await deps.visible(BigInt(position));
    const failures: unknown[] = [];
    for (const row of await environmentsOfBranch(deps.db, projectId, branch, stoppedAtOnce)) {
      await stopByItself(deps, row, causeId).catch((error: unknown) => failures.push(error));
    }
    // The others are stopped; what failed is tried again.
    if (failures.length > 0) throw failures[0];
  },
});
