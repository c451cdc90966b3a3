import { z } from "zod";

import { handle } from "../../commands/core/handle.ts";
import { environment } from "../../commands/pipeline/environment.ts";
import { idInStream } from "../../events/core/stream.ts";
import { bySystem } from "../../events/core/system.ts";
import { isFinished } from "../../events/pipeline/status.ts";
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
import type { WorkerDeps } from "../core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
import { type AdvanceDeps, later } from "./advance.ts";
import { type Asked, playJob, restartJob } from "./lifecycle.ts";

/**
 * Stops an environment: by the job that its last deployment names, where that exists and is one to be
 * started by hand; else at once.
 *
 * @returns the log position that shows it
 * @throws Refusal 403 `environment.protected`
 */
export async function stopEnvironment(
  deps: AdvanceDeps,
  row: EnvironmentRow,
  asked: Asked,
  { force }: Readonly<{ force: boolean }>,
): Promise<bigint | undefined> {
  const stopping = force ? undefined : await stopJob(deps, row);
  const { by } = asked;
  if (stopping === undefined || by === null) return recordStop(deps, row, asked);
  const { pipeline, job } = stopping;
  if (row.state === "STOPPING" && !isFinished(job.status)) return undefined;
  let position: bigint | undefined;
  let held = job;
  if (isFinished(job.status)) {
    position = await restartJob(deps, pipeline, job, asked);
    await deps.visible(position);
    held = (await findJobById(deps.db, job.id)) ?? job;
  }
  if (held.status !== "MANUAL") return position;
  return later(position, await playJob(deps, pipeline, held, null, { ...asked, by }));
}

async function recordStop(
  { store, now }: Pick<AdvanceDeps, "store" | "now">,
  { id, project_id: projectId, name, state }: EnvironmentRow,
  { by, metadata }: Asked,
): Promise<bigint | undefined> {
  const place = { environmentId: id, projectId, name, state, at: now().toISOString() };
  const command = { type: "StopEnvironment", ...place, by } as const;
  return (await handle(store, environment, { id, command, metadata })).position;
}

type StopJob = Readonly<{ pipeline: PipelineRow; job: JobRow }>;

async function stopJob({ db }: AdvanceDeps, row: EnvironmentRow): Promise<StopJob | undefined> {
  const last = row.on_stop === null ? undefined : await lastDeployment(db, row);
  const pipeline = last && (await findPipelineById(db, last.pipeline_id));
  if (pipeline === undefined) return undefined;
  const jobs = await allJobs(db, pipeline.id);
  // Another way than by hand would stop the environment in each pipeline that deploys to it.
  const job = jobs.find(({ name, job_when }) => name === row.on_stop && job_when === "manual");
  return job && { pipeline, job };
}

const stoppedAtOnce = 100;

/** Stops environments whose `auto_stop_in` is over, with the rights of who deployed last. */
export async function sweepExpiredEnvironments(deps: WorkerDeps): Promise<void> {
  for (const row of await expiredEnvironments(deps.db, deps.now(), stoppedAtOnce)) {
    await stopByItself(deps, row, `${row.auto_stop_at?.getTime()}`);
  }
}

async function stopByItself(deps: WorkerDeps, row: EnvironmentRow, cause: string): Promise<void> {
  const last = await lastDeployment(deps.db, row);
  const commandId = deterministicId("stop environment", row.id, row.last_number ?? 0, cause);
  const metadata = bySystem({ commandId }, deps.now().toISOString());
  const asked = { by: last?.user_id ?? null, metadata };
  try {
    await deps.visible(await stopEnvironment(deps, row, asked, { force: false }));
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
    // Who deployed may not stop it any more, or its job cannot run: it counts as stopped all the same.
    const repeated = { ...metadata, commandId: deterministicId(commandId, "by itself") };
    await recordStop(deps, row, { by: null, metadata: repeated });
  }
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
    for (const row of await environmentsOfBranch(deps.db, projectId, branch, stoppedAtOnce)) {
      await stopByItself(deps, row, causeId);
    }
  },
});
