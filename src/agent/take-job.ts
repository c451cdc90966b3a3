import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import path from "node:path";

import { maskedForms } from "../platform/job-log/mask.ts";
import { agentInfo, agentVersion } from "./about.ts";
import type { Client } from "./client.ts";
import type { Executor } from "./executor-contract.ts";
import { type Job, JobFailure } from "./job.ts";
import { carryOut } from "./job-run.ts";
import { logFileOf, markOf, noteRun, removeAll } from "./leftover.ts";
import { LogFile } from "./log-file.ts";
import { type JobEnd, TraceUpload } from "./trace-upload.ts";
import { workplaceOf } from "./workplace.ts";

export type JobDeps = Readonly<{
  client: Client;
  executor: Executor;
  /** Absolute, without links. */
  workDirectory: string;
  systemId: string;
  /** Jobs are given back at once when it aborts. */
  giveBack: AbortSignal;
  /** Interval of the keepalive requests for a job without new output; for tests. */
  touchMs?: number;
  /** Receives messages for the person at the terminal. */
  report: (text: string) => void;
}>;

const timeoutSecondsDefault = 3_600;
/** As long as gitlab-runner tries to report its result to a service that does not answer. */
const finishMs = 9 * 60_000;
const giveBackMs = 5_000;

/** Runs a job that the service gave to this agent, and reports how it ended. */
export async function takeJob(job: Job, slot: number, deps: JobDeps): Promise<void> {
  const { executor, workDirectory, systemId, client, giveBack, report } = deps;
  const root = path.join(workDirectory, "jobs", `${job.id}-${randomUUID().slice(0, 8)}`);
  const mark = markOf(systemId, path.basename(root));
  const name = `${job.id} ${job.job_info.name} of ${job.job_info.project_full_path}`;
  await mkdir(root, { recursive: true, mode: 0o700 });
  const timeoutSeconds =
    job.runner_info.timeout > 0 ? job.runner_info.timeout : timeoutSecondsDefault;
  const { isolated } = executor;
  const about = { timeoutSeconds, slot, version: agentVersion, isolated };
  const settled = await workplaceOf({ executor: executor.name, root, job, mark, about });
  const { environment } = settled;
  const log = new LogFile(logFileOf(root), await maskedForms(environment.masked));
  const stops = stopsOf(giveBack, timeoutSeconds);
  const trace = new TraceUpload({
    ...{ client, job, log, info: agentInfo(executor.name) },
    ...(deps.touchMs !== undefined && { touchMs: deps.touchMs }),
    onAbort: () => stops.end("job_canceled", "the service ended it"),
    onCancel: () => stops.cancel(),
  });
  try {
    if (!(await trace.confirm(giveBack))) return report(`Job ${name} was taken back.`);
    await noteRun(root, job);
    report(`Job ${name} begins.`);
    const cacheDirectory = path.join(workDirectory, "cache");
    const of = { job, client, executor, ...settled, log, cacheDirectory };
    const end = await carryOut({ ...of, script: stops.script, over: stops.over });
    if (end.state === "success") log.note("Job succeeded");
    log.end();
    const isDelivered = await trace.finish(end, giveBack.aborted ? giveBackMs : finishMs);
    report(
      `Job ${name} ended: ${textOf(end)}${isDelivered ? "" : ", and the service had ended it"}.`,
    );
  } finally {
    stops.close();
    log.close();
    await removeAll(root);
  }
}

const textOf = (end: JobEnd): string => (end.state === "success" ? "success" : end.reason);

/** What ends a run early. */
function stopsOf(giveBack: AbortSignal, timeoutSeconds: number) {
  const script = new AbortController();
  const over = new AbortController();
  const stopScript = (failure: JobFailure): void => {
    if (!script.signal.aborted) script.abort(failure);
  };
  const end = (reason: JobFailure["reason"], message: string): void => {
    if (over.signal.aborted) return;
    const failure = new JobFailure(reason, message);
    over.abort(failure);
    stopScript(failure);
  };
  const onGiveBack = (): void => end("runner_interrupted", "the agent was stopped");
  const timeout = (): void =>
    stopScript(
      new JobFailure("job_execution_timeout", `it took longer than ${timeoutSeconds} seconds`),
    );
  giveBack.addEventListener("abort", onGiveBack);
  if (giveBack.aborted) onGiveBack();
  const timer = setTimeout(timeout, Math.min(timeoutSeconds * 1_000, 2 ** 31 - 1));
  return {
    script: script.signal,
    over: over.signal,
    end,
    cancel: () => stopScript(new JobFailure("job_canceled", "it was canceled")),
    close(): void {
      clearTimeout(timer);
      giveBack.removeEventListener("abort", onGiveBack);
    },
  };
}
