import { Readable } from "node:stream";
import { z } from "zod";

import { jobLog } from "../../commands/agent/job-log.ts";
import { handle } from "../../commands/core/handle.ts";
import type { Recorded } from "../../events/core/event.ts";
import { bySystem } from "../../events/core/system.ts";
import { JobId, PipelineId } from "../../events/pipeline/id.ts";
import { jobEvents, jobStream } from "../../events/pipeline/job.ts";
import { pipelineEvents, pipelineStream } from "../../events/pipeline/pipeline.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import {
  dropChunks,
  dropRuns,
  findRun,
  isLetEnd,
  type JobRunRow,
  logBytesMax,
  type RunKey,
  readLog,
  sealRun,
  sealWholeRuns,
} from "../../platform/job-log/store.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { findJobLog } from "../../projections/agent/job-log.ts";
import { jobLogQueue as queue } from "../../services/agent/stopped-log.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

/** After the time of a run that was canceled. */
const lateMs = 1_000;
/** Of the line that says that the rest is not kept, and what the service adds. */
const beyondBytes = 64 * 1024;

const Ended = z.object({
  jobId: JobId,
  pipelineId: PipelineId,
  projectId: jobEvents.JobCanceled.shape.projectId,
  /** A job that was canceled names none. */
  attempt: z.int().positive().optional(),
});

const EndedRun = Ended.extend({ causeId: z.string(), position: z.string() });
type EndedRun = z.output<typeof EndedRun>;

/** The log of a run that has ended becomes a blob, which an event names. */
export const jobLogEnd: Reactor = {
  name: "job-log",
  types: new Set(["JobSucceeded", "JobFailed", "JobCanceled"]),
  // Until then the log is read from its chunks.
  batchMs: 1_000,
  react: (event) => endedLogs([event]),
  reactAll: endedLogs,
};

async function endedLogs(events: readonly Recorded[]): Promise<readonly Job[]> {
  const runs = events.map(({ id, data, position }) => ({
    ...Ended.parse(data),
    causeId: id,
    position: String(position),
  }));
  return [{ queue, id: deterministicId("job log", ...events.map(({ id }) => id)), data: { runs } }];
}

export const jobLogWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: z.object({ runs: z.array(EndedRun).min(1) }),
  async run({ runs }, deps) {
    const failures: unknown[] = [];
    const failed = (error: unknown): void => void failures.push(error);
    const ended: Run[] = [];
    // One log that cannot be stored now does not keep the others.
    for (const each of runs) {
      const run = await endedRun(deps, each).catch(failed);
      if (run) ended.push(run);
    }
    // Most logs hold nothing back, and are sealed together.
    const sealed = await sealWholeRuns(deps.db, ended.map(keyOf), deps.now());
    for (const run of ended) {
      const { job_id, attempt } = keyOf(run);
      const known = sealed.find((row) => row.job_id === job_id && row.attempt === attempt);
      await keepLog(deps, run, known).catch(failed);
    }
    if (failures.length > 0) throw failures[0];
  },
});

/** Undefined for a job that no agent was given, and for one whose agent still sends some of its log. */
async function endedRun(
  deps: KeepLogDeps & Pick<WorkerDeps, "queues">,
  { causeId, position, attempt: given, ...job }: EndedRun,
): Promise<Run | undefined> {
  await deps.visible(BigInt(position));
  const attempt = given ?? (await lastAttempt(deps.store, job.jobId, causeId));
  if (attempt === 0) return undefined;
  const isCanceled = given === undefined;
  const run = isCanceled ? await findRun(deps.db, { job_id: job.jobId, attempt }) : undefined;
  if (run === undefined || !isLetEnd(run, deps.now())) return { ...job, attempt };
  // Its agent sends more of it, and says when it has stopped.
  await deps.queues.add([laterLog({ ...job, attempt, causeId, position }, run, deps.now())]);
  return undefined;
}

/** For an agent that never reports that it has stopped. */
const laterLog = (ended: EndedRun, { canceling_until }: JobRunRow, now: Date): Job => ({
  queue,
  id: deterministicId("job log of an agent that went", ended.jobId, Number(canceling_until)),
  data: { runs: [ended] },
  delayMs: Number(canceling_until) - now.getTime() + lateMs,
});

/** The run that was in progress when the job was canceled; 0 when there was none. */
async function lastAttempt(store: EventStore, jobId: string, causeId: string): Promise<number> {
  let attempt = 0;
  for await (const { id, type, data } of store.readStream(jobStream(jobId))) {
    if (id === causeId) break;
    if (type === "JobQueued") ({ attempt } = jobEvents.JobQueued.parse(data));
  }
  return attempt;
}

type Run = Readonly<{
  jobId: JobId;
  pipelineId: PipelineId;
  projectId: z.output<typeof Ended>["projectId"];
  attempt: number;
}>;

type KeepLogDeps = Pick<WorkerDeps, "db" | "store" | "blobs" | "visible" | "now">;

const keyOf = ({ jobId: job_id, attempt }: Run): RunKey => ({ job_id, attempt });

/**
 * May be stopped at any line and repeated: chunks go once readers find the blob.
 *
 * @param justSealed the run, where it was sealed a moment ago: its log is stored nowhere yet
 */
export async function keepLog(deps: KeepLogDeps, run: Run, justSealed?: JobRunRow): Promise<void> {
  const { db, store, blobs, now } = deps;
  const key = keyOf(run);
  if (justSealed !== undefined || (await findJobLog(db, key)) === undefined) {
    const sealed = justSealed ?? (await sealRun(db, key, now()));
    if (sealed === undefined || sealed.stored === 0n) return;
    const whole = { first: 0, last: Number(sealed.stored) - 1 };
    const content = Readable.from(readLog(db, key, whole), { objectMode: false });
    const blob = await blobs.putPlain(content, { bytesMax: logBytesMax + beyondBytes });
    const at = now().toISOString();
    const stored = { bytes: blob.bytes, sha256: blob.digest };
    const command = { type: "StoreJobLog", ...run, ...stored, at } as const;
    const commandId = deterministicId("keep log", run.jobId, run.attempt);
    const order = { id: run.jobId, command, metadata: bySystem({ commandId }, at) };
    await deps.visible((await handle(store, jobLog, order)).position);
    await blob.release();
  }
  await dropChunks(db, key);
}

const removalQueue = "job-log-removal";

/** Runs and logs go with their pipeline; blobs are collected once nothing refers to them. */
export const jobLogRemoval: Reactor = {
  name: "job-log-removal",
  types: new Set(["PipelineDeleted"]),
  react: async ({ id, data }) => {
    const { pipelineId } = pipelineEvents.PipelineDeleted.parse(data);
    return [{ queue: removalQueue, id, data: { pipelineId } }];
  },
};

export const jobLogRemovalWorker = defineWorker({
  queue: removalQueue,
  concurrency: 1,
  payload: z.object({ pipelineId: PipelineId }),
  async run({ pipelineId }, { db, store }) {
    for await (const { type, data } of store.readStream(pipelineStream(pipelineId))) {
      if (type !== "PipelineJobsPlanned") continue;
      const { jobs } = pipelineEvents.PipelineJobsPlanned.parse(data);
      await dropRuns(
        db,
        jobs.map(({ jobId }) => jobId),
      );
    }
  },
});
