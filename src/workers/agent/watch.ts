import { z } from "zod";

import type { Recorded } from "../../events/core/event.ts";
import { type JobFailureReason, jobEvents } from "../../events/pipeline/job.ts";
import type { JobSpec } from "../../events/pipeline/job-spec.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { findRun, giveUpRun, type JobRunRow } from "../../platform/job-log/store.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { heardSince } from "../../projections/agent/heard.ts";
import { silentRuns } from "../../projections/agent/stuck.ts";
import { findJobById, findJobSpec, findJobs } from "../../projections/pipeline/query.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import { notCurrent } from "../../projections/progress/current.ts";
import { timeoutOf } from "../../services/agent/timeout.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { orderIfOpen } from "../../services/core/job-order.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "agent-watch";
/** An agent confirms a job within this time, or another one gets it. */
export const confirmMs = 30_000;
/** An agent that has not been heard of for this time is gone, and its job has failed. */
export const silenceMs = 60_000;
/** Between two checks while the read model is behind. */
const behindMs = 5_000;

/** Agents end jobs themselves when their time is over; this is left for what follows a script. */
const overtimeMs = 15 * 60_000;

/** Between two checks while no process runs that agents can reach. */
const deafMs = 5_000;

const Run = z.object({ jobId: z.string(), attempt: z.int().positive() });
type Run = z.output<typeof Run>;
/** Of the start of the last of some runs in the log; left out once the read model has shown it. */
const Position = z.string().regex(/^\d+$/).optional();
const Watched = z.object({ runs: z.array(Run).min(1), look: z.int(), position: Position });

const watch = (runs: readonly Run[], look: number, delayMs: number, position?: string): Job => ({
  queue,
  id: deterministicId(
    "agent watch",
    look,
    ...runs.flatMap(({ jobId, attempt }) => [jobId, attempt]),
  ),
  data: { runs, look, ...(position !== undefined && { position }) },
  delayMs,
});

/** A run that was given to an agent is checked until it is over, with those that began at the same time. */
export const agentWatch: Reactor = {
  name: "agent-watch",
  types: new Set(["JobAssigned", "JobStarted"]),
  batchMs: 1_000,
  react: (event) => watchAll([event]),
  reactAll: watchAll,
};

async function watchAll(events: readonly Recorded[]): Promise<readonly Job[]> {
  const runs = events.map(runOf).filter((run) => run !== undefined);
  if (runs.length === 0) return [];
  // A job that was returned is given out again in the same attempt: the position distinguishes them.
  const position = events.at(-1)?.position ?? 0n;
  return [watch(runs, Number(position), confirmMs, String(position))];
}

/** Undefined for a job of the service itself, and for one that its agent confirmed behind JobAssigned. */
function runOf({ type, data }: Recorded): Run | undefined {
  const { jobId, attempt } = Run.parse(data);
  const isGiven =
    type === "JobAssigned" || jobEvents.JobStarted.parse(data).tokenHash !== undefined;
  return isGiven ? { jobId, attempt } : undefined;
}

export const agentWatchWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: Watched,
  async run({ runs, position }, deps) {
    if (position !== undefined && !(await shows(deps.db, BigInt(position)))) {
      await deps.queues.add([watch(runs, deps.now().getTime(), behindMs, position)]);
      return;
    }
    // Most have ended by now, which one look at all of them shows.
    const rows = await findJobs(
      deps.db,
      runs.map(({ jobId }) => jobId),
    );
    const going = runs.filter(({ jobId, attempt }) =>
      rows.some((row) => row.id === jobId && row.attempt === attempt && isWatched(row)),
    );
    const upSince = going.length === 0 ? null : await upSinceOf(deps);
    const left: Run[] = [];
    const next: number[] = [];
    for (const run of going) {
      const lookInMs = upSince === null ? deafMs : await lookAt(deps, run, upSince);
      if (lookInMs === undefined) continue;
      left.push(run);
      next.push(lookInMs);
    }
    if (left.length === 0) return;
    await deps.queues.add([watch(left, deps.now().getTime(), Math.min(...next))]);
  },
});

const silentAtOnce = 500;

/** Checks runs whose checks were lost with their queue: those of others would have found by now that they are silent. */
export async function sweepSilentRuns(
  deps: Pick<WorkerDeps, "db" | "store" | "now">,
): Promise<void> {
  const upSince = await upSinceOf(deps);
  if (upSince === null) return;
  const heardBefore = new Date(deps.now().getTime() - 2 * silenceMs);
  for (const { id, attempt } of await silentRuns(deps.db, { heardBefore, limit: silentAtOnce })) {
    await lookAt(deps, { jobId: id, attempt }, upSince);
  }
}

/** While no process is up that agents can reach, none is silent: null. */
const upSinceOf = async ({ db }: Pick<WorkerDeps, "db">): Promise<number | null> =>
  (await heardSince(db))?.getTime() ?? null;

/** A read model that does not show the start of a run yet shows one that is over. */
const shows = async (db: WorkerDeps["db"], position: bigint): Promise<boolean> =>
  (await notCurrent(db, ["pipeline"], position)).length === 0;

/** An agent has it, and its run goes on. */
const isWatched = ({ status, agent_id, token_hash }: JobRow): boolean =>
  agent_id !== null && (status === "RUNNING" || token_hash !== null);

/**
 * Returns a job that its agent did not confirm, and fails one whose agent has gone.
 *
 * @param upSince since when agents have been able to report, in milliseconds
 * @returns when to check again, in milliseconds; undefined when there is nothing more to check
 */
export async function lookAt(
  deps: Pick<WorkerDeps, "db" | "store" | "now">,
  { jobId, attempt }: Run,
  upSince: number,
): Promise<number | undefined> {
  const row = await findJobById(deps.db, jobId);
  if (row === undefined || row.attempt !== attempt || !isWatched(row)) return undefined;
  const now = deps.now().getTime();
  const run = await findRun(deps.db, { job_id: jobId, attempt });
  if (row.status === "RUNNING" && isConfirmed(row, run)) {
    const contactAt = Math.max(upSince, ...[run?.contact_at, row.started_at].map(Number));
    const rules = await findJobSpec(deps.db, jobId);
    if (rules === undefined) return undefined;
    const overAt = Number(row.started_at) + timeoutOf(rules, null) * 1_000 + overtimeMs;
    // An agent whose time was over meanwhile reports the end when it can.
    const endMs = Math.max(overAt, upSince + silenceMs);
    const silentMs = silenceMs - (now - contactAt);
    if (silentMs > 0 && endMs > now) return Math.min(silentMs, endMs - now);
    const reason = silentMs > 0 ? "job_execution_timeout" : "runner_system_failure";
    await failed(deps, row, { reason, rules });
    return undefined;
  }
  // A projections process of an earlier release shows the start of the run alone, and no token: no agent can authenticate for it.
  const givenAt = row.assigned_at ?? row.started_at;
  if (givenAt === null) return undefined;
  const left = confirmMs - (now - Math.max(upSince, Number(givenAt)));
  if (left > 0) return left;
  // The run ends here first: its agent may confirm it at this moment. One that has not started is confirmed by an event.
  if (row.status === "RUNNING" && !(await givenUp(deps, row))) return silenceMs;
  const { agent_id: agentId, token_hash: tokenHash } = row;
  await orderIfOpen(deps, row, { type: "ReturnJob", agentId, attempt, tokenHash }, stepOf(row));
  return undefined;
}

/** @returns false where its agent has confirmed it in the meantime */
async function givenUp({ db, now }: Pick<WorkerDeps, "db" | "now">, row: JobRow): Promise<boolean> {
  const { id: job_id, attempt, project_id, agent_id, token_hash } = row;
  if (agent_id === null || token_hash === null) return true;
  const at = now();
  const key = { job_id, attempt };
  const run = { ...key, project_id, agent_id, token_hash, contact_at: at };
  return (await giveUpRun(db, run, at)) || !isBegun(row, await findRun(db, key));
}

/** A process that gave the job to an agent, and died before it noted the run, leaves another run or none. */
function isBegun({ token_hash }: JobRow, run: JobRunRow | undefined): run is JobRunRow {
  return run?.token_hash === token_hash;
}

const isConfirmed = (row: JobRow, run: JobRunRow | undefined): boolean =>
  isBegun(row, run) && run.confirmed_at !== null;

async function failed(
  deps: Pick<WorkerDeps, "db" | "store" | "now">,
  row: JobRow,
  { reason, rules }: Readonly<{ reason: JobFailureReason; rules: JobSpec }>,
): Promise<void> {
  const { agent_id: agentId, attempt, token_hash: tokenHash } = row;
  const what = { type: "RecordJobFailed", reason, exitCode: null, rules } as const;
  await orderIfOpen(deps, row, { ...what, agentId, attempt, tokenHash }, stepOf(row));
}

const stepOf = ({ id, token_hash }: JobRow) => ["agent watch", id, token_hash ?? ""];
