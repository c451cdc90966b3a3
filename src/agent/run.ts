import { realpath } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { ConfigError } from "../config.ts";
import { claimPidFile, PidFileHeld, releasePidFile } from "../embedded/pid-file.ts";
import { agentInfo, userAgent } from "./about.ts";
import { type Client, openClient } from "./client.ts";
import type { AgentConfig } from "./config.ts";
import { openExecutor } from "./executor.ts";
import { Job } from "./job.ts";
import { endLeftovers } from "./leftover.ts";
import { type JobDeps, takeJob } from "./take-job.ts";

export type AgentOptions = Readonly<{
  config: AgentConfig;
  workDirectory: string;
  /** Directories that no job in a sandbox sees, beside that of the work. */
  hidden: readonly string[];
  /** Ends after one job. */
  once: boolean;
  /** Takes no more jobs, and ends with those that run. */
  stop: AbortSignal;
  /** Ends the jobs that run as well: the service may give them to other agents. */
  giveBack: AbortSignal;
  report: (text: string) => void;
  /** For tests; see TraceUpload. */
  touchMs?: number;
}>;

/** The service holds a poll for 50 s. */
const pollMs = 75_000;
const pauseMsFirst = 1_000;
const pauseMsMax = 30_000;
/** Pause after a refused token: an administrator may have revoked it by mistake, so polling goes on, rarely. */
const refusedMs = 60_000;

/**
 * Takes jobs and runs them until stopped.
 *
 * @throws ConfigError when the machine lacks what it needs, or another process runs this agent
 */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { config, report, giveBack } = options;
  const workDirectory = await realpath(options.workDirectory);
  const pidFile = path.join(workDirectory, "agent.pid");
  await claim(pidFile);
  try {
    const executor = await openExecutor(config.executor, {
      readable: config.readable,
      hidden: [workDirectory, ...options.hidden],
      pullPolicies: config.pullPolicies,
    });
    const client = openClient(config.url, userAgent);
    const { systemId } = config;
    await endLeftovers({ client, executor, workDirectory, systemId, report });
    report(`Agent ${config.name} waits for jobs of ${config.url} (${executor.name}).`);
    const { touchMs } = options;
    const more = { ...(touchMs !== undefined && { touchMs }) };
    const deps = { client, executor, workDirectory, systemId, giveBack, report, ...more };
    await takeJobs(options, deps);
  } finally {
    await releasePidFile(pidFile);
  }
}

async function claim(pidFile: string): Promise<void> {
  try {
    await claimPidFile(pidFile, process.pid);
  } catch (error) {
    if (!(error instanceof PidFileHeld)) throw error;
    throw new ConfigError(`This agent already runs, as process ${error.pid}.`);
  }
}

async function takeJobs(options: AgentOptions, deps: JobDeps): Promise<void> {
  const { config, once, stop, report } = options;
  const running = new Map<number, Promise<void>>();
  const poll = poller(config, deps.client);
  let pauseMs = pauseMsFirst;
  while (!stop.aborted) {
    const polled = await poll(stop).catch((error: unknown) => failureOf(error));
    if (stop.aborted && !("job" in polled)) break;
    if ("job" in polled) {
      pauseMs = pauseMsFirst;
      const slot = freeSlot(running);
      const run = takeJob(polled.job, slot, deps)
        .catch((error: unknown) => report(`A job failed: ${failureOf(error).problem}`))
        .finally(() => running.delete(slot));
      running.set(slot, run);
      if (once) break;
      while (running.size >= config.concurrency) await Promise.race(running.values());
    } else if ("problem" in polled) {
      report(polled.problem);
      await delay(polled.pauseMs ?? pauseMs, undefined, { signal: stop }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, pauseMsMax);
    } else pauseMs = pauseMsFirst;
  }
  if (running.size > 0 && !once) report(`No more jobs are taken; ${running.size} still run.`);
  await Promise.all(running.values());
}

function freeSlot(running: ReadonlyMap<number, unknown>): number {
  let slot = 0;
  while (running.has(slot)) slot += 1;
  return slot;
}

type Problem = Readonly<{ problem: string; pauseMs?: number }>;
type PollResult = Readonly<{ job: Job }> | Problem | Readonly<{ nothing: true }>;

function failureOf(error: unknown): Problem {
  if (!(error instanceof Error)) return { problem: String(error) };
  const { cause } = error;
  return { problem: cause instanceof Error ? `${error.message}: ${cause.message}` : error.message };
}

/** Requests one job and waits for it. */
function poller(config: AgentConfig, client: Client): (signal: AbortSignal) => Promise<PollResult> {
  const { token, systemId, executor } = config;
  let seen = "";
  return async (signal) => {
    const answer = await client.send({
      method: "POST",
      path: "/jobs/request",
      json: { token, system_id: systemId, last_update: seen, info: agentInfo(executor) },
      headers: { "runner-token": token },
      timeoutMs: pollMs,
      signal,
    });
    seen = answer.headers.get("x-gitlab-last-update") ?? seen;
    if (answer.status === 201) return { job: Job.parse(await answer.json()) };
    await answer.body?.cancel();
    if (answer.status === 204) return { nothing: true };
    if (answer.status === 403) {
      const problem = "The service refuses the token of this agent: was it removed or reset?";
      return { problem, pauseMs: refusedMs };
    }
    return { problem: `The service answered ${answer.status}.` };
  };
}
