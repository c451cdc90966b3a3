import { handle, later } from "../../commands/core/handle.ts";
import { type JobCommand, job } from "../../commands/pipeline/job.ts";
import { dependentsOf, inTurns } from "../../commands/pipeline/next-step.ts";
import { pipeline } from "../../commands/pipeline/pipeline.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import type { UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import type { JobWhen } from "../../events/pipeline/job-spec.ts";
import { isFinished } from "../../events/pipeline/status.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { endCanceledRuns, letRunsEnd } from "../../platform/job-log/store.ts";
import { underLock } from "../../platform/postgres/lock.ts";
import { Refusal } from "../../platform/refusal.ts";
import { allJobs } from "../../projections/pipeline/query.ts";
import type { JobRow, PipelineRow } from "../../projections/pipeline/table.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { advancePipeline, endLock, settled, waiting } from "./advance.ts";
import { originOf } from "./job-run.ts";
import type { AdvanceDeps } from "./order-job.ts";
import { mayRun, mustMayDeploy } from "./queue-job.ts";
import { mustMayRunOn } from "./ref-right.ts";

/** The user who requests a change of a pipeline or a job, and the envelope of the resulting events. */
export type Initiator = Readonly<{ by: UserId | null; metadata: EventMetadata }>;

const commandsAtOnce = 16;

/** An agent notices a cancellation within 30 s, and runs after_script for 5 min at most. */
const cancelingMs = 7 * 60_000;

/**
 * Ends a pipeline and all of its jobs that have not ended. Repeated, it goes on where it stopped.
 *
 * @throws Refusal 422 `pipeline.finished`
 */
export async function cancelPipeline(
  deps: AdvanceDeps,
  row: PipelineRow,
  initiator: Initiator,
): Promise<bigint | undefined> {
  return cancelOpen(deps, row, initiator, {
    first: () => orderPipeline(deps, row, "CancelPipeline", initiator),
    which: () => true,
  });
}

/** Ignores that the pipeline to cancel has ended in the meantime. */
export async function unlessEnded(cancel: () => Promise<unknown>): Promise<void> {
  try {
    await cancel();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}

/** Ends those jobs of a pipeline that its file lets a newer pipeline end. */
export function cancelInterruptible(
  deps: AdvanceDeps,
  row: PipelineRow,
  initiator: Initiator,
): Promise<bigint | undefined> {
  return cancelOpen(deps, row, initiator, { which: ({ interruptible }) => interruptible });
}

/** Jobs that are about to start anew show their former ends until then, so the two happen one after the other. */
async function cancelOpen(
  deps: AdvanceDeps,
  row: PipelineRow,
  initiator: Initiator,
  {
    first = async () => undefined,
    which,
  }: Readonly<{
    first?: () => Promise<bigint | undefined>;
    which: (job: JobRow) => boolean;
  }>,
): Promise<bigint | undefined> {
  const order = { type: "CancelJob", by: initiator.by, quietly: true } as const;
  const canceled = await underLock(deps.db, endLock(row.id), async () => {
    let position = await first();
    const jobs = await settled(deps, () => allJobs(deps.db, row.id));
    const open = jobs.filter((each) => !isFinished(each.status) && which(each));
    // Those that wait come first: beside the end of what they wait for, a worker would skip them.
    for (const turn of turnsOf(jobs, open).toReversed()) {
      position = later(position, await orderJobs(deps, turn, order, initiator));
    }
    return position;
  });
  return goOn(deps, row.id, initiator, canceled);
}

const isRepeatable: ReadonlySet<string> = new Set(["FAILED", "CANCELED", "WARNING"]);

/**
 * Runs failed and canceled jobs again, and what depends on them; what succeeded stays.
 *
 * @throws Refusal 403 `pipeline.ref_protected`
 */
export async function restartPipeline(
  deps: AdvanceDeps,
  row: PipelineRow,
  initiator: Initiator,
): Promise<bigint | undefined> {
  await mustMayRunIn(deps, row, initiator.by);
  const jobs = await allJobs(deps.db, row.id);
  const again: JobRow[] = [];
  for (const each of jobs) {
    const isOver = isRepeatable.has(each.status);
    // What others alone may deploy is left to them.
    if (isOver && (await mayRun(deps, each, initiator.by))) again.push(each);
  }
  if (again.length === 0) return undefined;
  return startAnew(deps, row, initiator, () => resetJobs(deps, row, jobs, again, initiator));
}

/** Jobs that wait for a user or a time: who requests another run of one does not wait for these again. */
const isByHand: ReadonlySet<JobWhen> = new Set(["manual", "delayed"]);

/**
 * Runs one job again, and what depends on it and was skipped or did not succeed.
 *
 * @throws Refusal 422 `job.not_finished`; 403 `pipeline.ref_protected`, `environment.protected`
 */
export async function restartJob(
  deps: AdvanceDeps,
  row: PipelineRow,
  restarted: JobRow,
  initiator: Initiator,
): Promise<bigint | undefined> {
  await mustMayRunIn(deps, row, initiator.by);
  await mustMayDeploy(deps, restarted, initiator.by);
  const release = isByHand.has(restarted.job_when);
  const order = { type: "ResetJob", by: initiator.by, quietly: false, release } as const;
  return startAnew(deps, row, initiator, async () => {
    const position = await orderJobs(deps, [restarted], order, initiator);
    const jobs = await allJobs(deps.db, row.id);
    return later(position, await resetJobs(deps, row, jobs, [restarted], initiator));
  });
}

/** @throws Refusal 422 `job.finished` */
export async function cancelJob(
  deps: AdvanceDeps,
  row: JobRow,
  initiator: Initiator,
): Promise<bigint | undefined> {
  const order = { type: "CancelJob", by: initiator.by, quietly: false } as const;
  return goOn(deps, row.pipeline_id, initiator, await orderJobs(deps, [row], order, initiator));
}

/**
 * Starts a manual or delayed job. Jobs that need it and were skipped get another turn.
 *
 * @throws Refusal 422 `job.not_playable`; 403 `pipeline.ref_protected`, `environment.protected`
 */
export async function playJob(
  deps: AdvanceDeps,
  row: PipelineRow,
  played: JobRow,
  variables: Sealed | null,
  initiator: Initiator & Readonly<{ by: UserId }>,
): Promise<bigint | undefined> {
  await mustMayRunIn(deps, row, initiator.by);
  await mustMayDeploy(deps, played, initiator.by);
  const play = { type: "PlayJob", by: initiator.by, variables } as const;
  const position = await orderJobs(deps, [played], play, initiator);
  // What is next is computed from the read model, which must show that it was played.
  await deps.visible(position);
  const reset = async () =>
    resetJobs(deps, row, await allJobs(deps.db, row.id), [played], initiator);
  return later(position, await startAnew(deps, row, initiator, reset));
}

async function mustMayRunIn(
  deps: AdvanceDeps,
  row: PipelineRow,
  userId: UserId | null,
): Promise<void> {
  const project = await findProjectById(deps.db, row.project_id);
  if (project !== undefined) await mustMayRunOn(deps, project, userId, originOf(row));
}

/**
 * Jobs start anew one after the other. Until all of them show it, a check of the pipeline would find former ends
 * beside them, and take it for ended: who records its end waits.
 */
async function startAnew(
  deps: AdvanceDeps,
  row: PipelineRow,
  initiator: Initiator,
  reset: () => Promise<bigint | undefined>,
): Promise<bigint | undefined> {
  const position = await underLock(deps.db, endLock(row.id), async () => {
    const reached = await reset();
    await deps.visible(reached);
    return reached;
  });
  return goOn(deps, row.id, initiator, position);
}

async function resetJobs(
  deps: AdvanceDeps,
  row: PipelineRow,
  jobs: readonly JobRow[],
  again: readonly JobRow[],
  initiator: Initiator,
): Promise<bigint | undefined> {
  const restarted = await orderPipeline(deps, row, "RestartPipeline", initiator);
  const names = dependentsOf(jobs.map(waiting), new Set(again.map(({ name }) => name)));
  const behind = jobs.filter(({ name, status }) => names.has(name) && status !== "SUCCESS");
  const reset = [...again, ...behind].filter(({ status }) => isFinished(status));
  const order = { type: "ResetJob", by: initiator.by, quietly: true } as const;
  let position = restarted;
  for (const turn of turnsOf(jobs, reset)) {
    position = later(position, await orderJobs(deps, turn, order, initiator));
  }
  return position;
}

/** Some jobs of a pipeline in groups, each behind those that its jobs wait for. */
function turnsOf(jobs: readonly JobRow[], some: readonly JobRow[]): readonly (readonly JobRow[])[] {
  const rows = new Map<string, JobRow>(some.map((each) => [each.id, each]));
  const turns = inTurns(jobs.map(waiting), new Set(rows.keys()));
  return turns.map((ids) => ids.flatMap((id) => rows.get(id) ?? []));
}

/** Does what is next at once, so that the answer shows it. */
async function goOn(
  deps: AdvanceDeps,
  pipelineId: string,
  { metadata }: Initiator,
  position: bigint | undefined,
): Promise<bigint | undefined> {
  await deps.visible(position);
  const cause = { id: metadata.commandId, correlationId: metadata.correlationId };
  return later(position, await advancePipeline(deps, pipelineId, cause));
}

async function orderPipeline(
  { store, now }: AdvanceDeps,
  { id, project_id: projectId }: PipelineRow,
  type: "CancelPipeline" | "RestartPipeline",
  { by, metadata }: Initiator,
): Promise<bigint | undefined> {
  const command = { type, pipelineId: id, projectId, by, at: now().toISOString() } as const;
  return (await handle(store, pipeline, { id, command, metadata })).position;
}

type Order =
  | Readonly<{
      type: "CancelJob" | "ResetJob";
      by: UserId | null;
      quietly: boolean;
      release?: boolean;
    }>
  | Pick<Extract<JobCommand, { type: "PlayJob" }>, "type" | "by" | "variables">;

/** Runs before the jobs are canceled: from then on their agents receive the stop, and no log may be lost in between. */
async function letAgentsEnd(
  { db, now }: Pick<AdvanceDeps, "db" | "now">,
  jobs: readonly JobRow[],
): Promise<void> {
  const running = jobs.filter(({ status }) => status === "RUNNING");
  const keys = running.map(({ id, attempt }) => ({ job_id: id, attempt }));
  await letRunsEnd(db, keys, new Date(now().getTime() + cancelingMs));
}

async function orderJobs(
  { db, store, now }: AdvanceDeps,
  jobs: readonly JobRow[],
  order: Order,
  { metadata }: Initiator,
): Promise<bigint | undefined> {
  const at = now().toISOString();
  if (order.type === "CancelJob") await letAgentsEnd({ db, now }, jobs);
  if (order.type === "ResetJob") {
    const canceled = jobs.filter(({ status }) => status === "CANCELED");
    const ids = canceled.map(({ id }) => id);
    await endCanceledRuns(db, ids, now());
  }
  let position: bigint | undefined;
  for (let from = 0; from < jobs.length; from += commandsAtOnce) {
    const some = jobs.slice(from, from + commandsAtOnce).map(async (row) => {
      const { id: jobId, pipeline_id: pipelineId, project_id: projectId } = row;
      const command: JobCommand = { ...order, jobId, pipelineId, projectId, at };
      const commandId = deterministicId(metadata.commandId, jobId, order.type);
      const envelope = { ...metadata, commandId };
      return handle(store, job, { id: jobId, command, metadata: envelope });
    });
    for (const done of await Promise.all(some)) position = later(position, done.position);
  }
  return position;
}
