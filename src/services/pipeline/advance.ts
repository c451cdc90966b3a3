import { handle, later } from "../../commands/core/handle.ts";
import {
  nextSteps,
  type Step,
  stepsAfterSuccess,
  type WaitingJob,
} from "../../commands/pipeline/next-step.ts";
import { pipeline } from "../../commands/pipeline/pipeline.ts";
import { bySystem } from "../../events/core/system.ts";
import { isFinished, type PipelineStatus, pipelineStatus } from "../../events/pipeline/status.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { keyedLock } from "../../platform/keyed-lock.ts";
import { underLock } from "../../platform/postgres/lock.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { endsOf, type JobEnd } from "../../projections/pipeline/follower.ts";
import {
  findJobs,
  findPipelineById,
  type JobInOrder,
  jobSpecs,
  jobsInOrder,
} from "../../projections/pipeline/query.ts";
import type { JobRow, PipelineRow } from "../../projections/pipeline/table.ts";
import { type AdvanceDeps, type Cause, orderJob } from "./order-job.ts";
import { turnOrder } from "./queue-job.ts";
import { queueInGroup } from "./resource-group.ts";

export const advanceQueue = "pipeline-advance";
export const triggerQueue = "pipeline-trigger";

const commandsAtOnce = 16;

/** By pipeline: of two ends that come together, the later finds what the earlier has ordered. */
const inTurn = keyedLock();

/**
 * Does what is next in a pipeline: queues jobs whose turn has come, holds, delays and skips others, and
 * records the end. It goes by the read model, which the caller has waited for; steps that another
 * process took first change nothing.
 *
 * @param finished a job that ended, where nothing else has happened: often only the jobs that wait for it are checked
 * @returns the log position of the last step, if there was one
 */
export function advancePipeline(
  deps: AdvanceDeps,
  pipelineId: string,
  cause: Cause,
  finished?: Pick<JobRow, "id">,
): Promise<bigint | undefined> {
  return inTurn(pipelineId, async () => {
    const followed = finished && (await queueFollowers(deps, finished, cause));
    const position = followed ? followed.position : await advance(deps, pipelineId, cause);
    // Where they do not show it in time, the next one orders what is ordered, which changes nothing.
    await deps.visible(position).catch(() => undefined);
    return position;
  });
}

/** Reads a few jobs of a pipeline instead of all. */
async function queueFollowers(
  deps: AdvanceDeps,
  { id }: Pick<JobRow, "id">,
  cause: Cause,
): Promise<Readonly<{ position: bigint | undefined }> | undefined> {
  const [end] = await endsOf(deps.db, [id]);
  if (end === undefined) return undefined;
  const steps = stepsAfterSuccess(end.name, end.near.map(waiting), deps.now());
  if (steps === undefined) return undefined;
  const found = new Map(end.near.map((row) => [row.id as string, row]));
  return {
    position: await takeSteps(deps, steps, found, new Map<string, JobInOrder>(found), cause),
  };
}

/**
 * The same without a job of the queue, where nothing but a few plain jobs begins. A repetition, here or by such a job,
 * changes nothing.
 *
 * @param ordered ids of jobs that others of the ends that are handled together have begun; those of this one are added
 * @returns false where more than that decides
 */
export async function queuePlainFollowers(
  deps: Pick<AdvanceDeps, "store" | "now">,
  { name, near, resource_group }: JobEnd,
  cause: Cause,
  ordered: Set<string>,
): Promise<boolean> {
  const steps = stepsAfterSuccess(name, near.map(waiting), deps.now());
  if (steps === undefined || steps.length > commandsAtOnce || resource_group !== null) return false;
  const queued = new Set(steps.map(({ jobId }) => jobId));
  const rows = near.filter(({ id }) => queued.has(id) && !ordered.has(id));
  if (!rows.every(isPlain)) return false;
  for (const { id } of rows) ordered.add(id);
  await Promise.all(rows.map((row) => orderJob(deps, row, { type: "QueueJob" }, cause)));
  return true;
}

/** Nothing is to be looked up before it is queued, and agents run it. */
const isPlain = ({ environment, resource_group, is_trigger }: JobRow): boolean =>
  environment === null && resource_group === null && !is_trigger;

async function advance(
  deps: AdvanceDeps,
  pipelineId: string,
  cause: Cause,
): Promise<bigint | undefined> {
  const row = await findPipelineById(deps.db, pipelineId);
  if (row === undefined || row.jobs === 0) return undefined;
  const rows = await settled(deps, () => jobsInOrder(deps.db, pipelineId));
  // The rest of the plan is still to come.
  if (rows.length < row.jobs) return undefined;
  const jobs = new Map(rows.map((each) => [each.id as string, each]));
  let position: bigint | undefined;
  for (;;) {
    const steps = nextSteps([...jobs.values()].map(waiting), deps.now());
    if (steps.length === 0) break;
    const ids = steps.map(({ jobId }) => jobId);
    const found = await findJobs(deps.db, ids);
    const known = new Map(found.map((row) => [row.id as string, row]));
    const reached = await takeSteps(deps, steps, known, jobs, cause);
    position = later(position, reached);
  }
  return later(position, await end(deps, row, [...jobs.values()], { cause, position }));
}

/** Under this lock jobs of a pipeline start anew or are canceled, or its end is recorded. */
export const endLock = (pipelineId: string): string => `end of pipeline ${pipelineId}`;

const statusOf = (
  { canceled: isCanceled }: Pick<PipelineRow, "canceled">,
  jobs: readonly JobInOrder[],
): PipelineStatus =>
  pipelineStatus(
    jobs.map(({ status, may_fail: mayFail }) => ({ status, mayFail, count: 1 })),
    { isCanceled },
  );

/**
 * Records the end of a pipeline of which no job is left. Its jobs are read once more under the lock: they may be
 * about to start anew, one after the other, and show former ends until then.
 *
 * @param position of what was ordered before
 */
async function end(
  deps: AdvanceDeps,
  row: PipelineRow,
  jobs: readonly JobInOrder[],
  { cause, position }: Readonly<{ cause: Cause; position: bigint | undefined }>,
): Promise<bigint | undefined> {
  if (!isFinished(statusOf(row, jobs))) return undefined;
  // Where they do not show it in time, the last of these steps brings another look.
  await deps.visible(position).catch(() => undefined);
  return underLock(deps.db, endLock(row.id), async () => {
    const ended = await settled(deps, () => jobsInOrder(deps.db, row.id));
    // A pipeline is canceled before its jobs are: what shows their ends shows its own.
    const now = await findPipelineById(deps.db, row.id);
    return now && finish(deps, now, ended, cause);
  });
}

/**
 * Jobs of a pipeline as they are. One that fails and is tried again does so by two events of one append, and read
 * models may show the first alone for a moment: it would be taken for ended. With the end of the log they show both.
 */
export async function settled<Row extends Pick<JobRow, "status">>(
  { store, visible }: Pick<AdvanceDeps, "store" | "visible">,
  find: () => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const rows = await find();
  if (!rows.some(({ status }) => status === "FAILED" || status === "WARNING")) return rows;
  await visible(await store.head());
  return find();
}

export function waiting(row: JobInOrder): WaitingJob {
  return {
    id: row.id,
    name: row.name,
    stageIndex: row.stage_index,
    status: row.status,
    when: row.job_when,
    needs: row.needs,
    mayFail: row.may_fail,
    released: row.released,
    delayedUntil: row.delayed_until,
  };
}

type WaitingStep = Exclude<Step["step"], "queue">;

const statusAfter: Readonly<Record<WaitingStep, PipelineStatus>> = {
  hold: "MANUAL",
  delay: "CREATED",
  skip: "SKIPPED",
};

async function takeSteps(
  deps: AdvanceDeps,
  steps: readonly Step[],
  rows: ReadonlyMap<string, JobRow>,
  jobs: Map<string, JobInOrder>,
  cause: Cause,
): Promise<bigint | undefined> {
  const delays = steps.filter(({ step }) => step === "delay").map(({ jobId }) => jobId);
  const specs = await jobSpecs(deps.db, delays);
  let position: bigint | undefined;
  for (let at = 0; at < steps.length; at += commandsAtOnce) {
    const taken = steps.slice(at, at + commandsAtOnce).map(async ({ jobId, step }) => {
      const row = rows.get(jobId);
      const inOrder = jobs.get(jobId);
      if (row === undefined || inOrder === undefined) return undefined;
      const startInSeconds = specs.get(jobId)?.startInSeconds ?? 0;
      const until = new Date(deps.now().getTime() + startInSeconds * 1_000);
      const result =
        step === "queue"
          ? await queueOrRefuse(deps, row, cause)
          : { status: statusAfter[step], position: await take(deps, row, step, until, cause) };
      const delayed_until = step === "delay" ? until : row.delayed_until;
      jobs.set(jobId, { ...inOrder, status: result.status, delayed_until });
      return result.position;
    });
    for (const reached of await Promise.all(taken)) position = later(position, reached);
  }
  return position;
}

/** The service itself carries out jobs that start other pipelines. */
export const triggerJob = ({ id: jobId, attempt }: JobRow): Job => ({
  queue: triggerQueue,
  id: `${jobId}-${attempt + 1}`,
  data: { jobId, attempt: attempt + 1 },
});

/** A job of a resource group waits for the others of it. */
async function queueOrRefuse(
  deps: AdvanceDeps,
  row: JobRow,
  cause: Cause,
): Promise<Readonly<{ status: PipelineStatus; position: bigint | undefined }>> {
  const { order, status } = await turnOrder(deps, row);
  const isQueued = order.type === "QueueJob";
  if (isQueued && row.resource_group !== null) return queueInGroup(deps, row, order, cause);
  const position = await orderJob(deps, row, order, cause);
  if (isQueued && row.is_trigger) await deps.queues.add([triggerJob(row)]);
  return { status, position };
}

async function take(
  deps: AdvanceDeps,
  row: JobRow,
  step: WaitingStep,
  until: Date,
  cause: Cause,
): Promise<bigint | undefined> {
  switch (step) {
    case "hold":
      return orderJob(deps, row, { type: "HoldJob" }, cause);
    case "skip":
      return orderJob(deps, row, { type: "SkipJob" }, cause);
    case "delay": {
      const order = { type: "DelayJob", until: until.toISOString() } as const;
      const position = await orderJob(deps, row, order, cause);
      await deps.queues.add([
        {
          queue: advanceQueue,
          id: `${row.pipeline_id}-${row.id}-${until.getTime()}`,
          data: { pipelineId: row.pipeline_id, causeId: cause.id, position: null },
          delayMs: until.getTime() - deps.now().getTime() + 100,
        },
      ]);
      return position;
    }
  }
}

async function finish(
  { store, now }: AdvanceDeps,
  row: PipelineRow,
  jobs: readonly JobInOrder[],
  cause: Cause,
): Promise<bigint | undefined> {
  const status = statusOf(row, jobs);
  if (!isFinished(status)) return undefined;
  const at = now();
  const starts = jobs.flatMap(({ started_at }) => started_at ?? []).map(Number);
  const ends = jobs.flatMap(({ finished_at }) => finished_at ?? []).map(Number);
  const ranMs = starts.length === 0 ? 0 : Math.max(...ends, ...starts) - Math.min(...starts);
  const command = {
    type: "FinishPipeline",
    pipelineId: row.id,
    projectId: row.project_id,
    status,
    durationSeconds: Math.max(0, Math.round(ranMs / 1_000)),
    failureReason: status === "FAILED" ? failureOf(jobs) : null,
    at: at.toISOString(),
  } as const;
  const commandId = deterministicId(cause.id, row.id, "finish", status);
  const metadata = bySystem({ commandId, ...cause }, at.toISOString());
  return (await handle(store, pipeline, { id: row.id, command, metadata })).position;
}

const namedMax = 3;

function failureOf(jobs: readonly JobInOrder[]): string {
  const failed = jobs.filter(({ status }) => status === "FAILED");
  const named = failed
    .slice(0, namedMax)
    .map(({ name, failure_reason }) => `${name} (${failure_reason ?? "unknown_failure"})`);
  const more = failed.length > namedMax ? ` and ${failed.length - namedMax} more` : "";
  return `Failed jobs: ${named.join(", ")}${more}.`;
}
