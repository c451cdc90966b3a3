import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

import { agentInfo } from "./about.ts";
import { removeDrafts } from "./cache.ts";
import type { Client } from "./client.ts";
import type { Executor } from "./executor-contract.ts";
import { LogFile } from "./log-file.ts";
import { killMarked } from "./processes.ts";
import { TraceUpload } from "./trace-upload.ts";

/** What the next start of an agent needs to end a run that was cut off. */
const NotedRun = z.object({ id: z.int().positive(), token: z.string().min(1) });
type NotedRun = z.output<typeof NotedRun>;

const noteOf = (root: string): string => path.join(root, "run.json");
export const logFileOf = (root: string): string => path.join(root, "log");
/** @param name of the directory of the job */
export const markOf = (systemId: string, name: string): string => `${systemId}:${name}`;

/** Notes that a job was confirmed, in its directory. */
export async function noteRun(root: string, { id, token }: NotedRun): Promise<void> {
  await writeFile(noteOf(root), JSON.stringify({ id, token }), { mode: 0o600, flag: "wx" });
}

/** A service that is away finds out by itself that nothing is heard of the job. */
const reportMs = 10_000;

type Leftovers = Readonly<{
  client: Client;
  executor: Executor;
  workDirectory: string;
  systemId: string;
  report: (text: string) => void;
}>;

/**
 * Removes what a killed agent left behind: processes, containers and directories. Its jobs fail at once as
 * `runner_system_failure`, so that the service retries those whose pipeline file requests it.
 */
export async function endLeftovers(leftovers: Leftovers): Promise<void> {
  const { executor, workDirectory, systemId } = leftovers;
  await killMarked(`${systemId}:`);
  await executor.removeAll?.(systemId).catch((error: unknown) => {
    leftovers.report(`Containers of jobs that were cut off are left: ${String(error)}`);
  });
  await removeDrafts(path.join(workDirectory, "cache"));
  const jobs = path.join(workDirectory, "jobs");
  const names = await readdir(jobs).catch(() => []);
  const end = async (name: string): Promise<void> => {
    const root = path.join(jobs, name);
    try {
      // The job may have filled the disk, and the log needs a last line.
      await removeOthers(root, [noteOf(root), logFileOf(root)]);
      await fail(root, leftovers);
    } catch (error) {
      leftovers.report(`What is left of the job in ${root} is removed unsent: ${String(error)}`);
    }
  };
  await Promise.all(names.map(end));
  await removeAll(jobs).catch((error: unknown) => {
    leftovers.report(`Files of jobs that were cut off are left: ${String(error)}`);
  });
}

async function removeOthers(root: string, excepted: readonly string[]): Promise<void> {
  const all = (await readdir(root)).map((name) => path.join(root, name));
  for (const other of all.filter((file) => !excepted.includes(file))) await removeAll(other);
}

/** Sends the rest of the log as well. */
async function fail(root: string, { client, executor, report }: Leftovers): Promise<void> {
  const run = await readRun(root);
  if (run === undefined) return;
  const log = LogFile.reopen(logFileOf(root));
  try {
    log.error("Job failed: the agent was killed while the job ran");
    log.end();
    const nothing = (): void => undefined;
    const of = { client, job: run, log, info: agentInfo(executor.name) };
    const trace = new TraceUpload({ ...of, onAbort: nothing, onCancel: nothing });
    const end = { state: "failed", reason: "runner_system_failure" } as const;
    if (await trace.finish(end, reportMs)) report(`Job ${run.id} failed: the agent was killed.`);
  } finally {
    log.close();
  }
}

/** Undefined when the agent was killed before the job began. */
async function readRun(root: string): Promise<NotedRun | undefined> {
  try {
    return NotedRun.parse(JSON.parse(await readFile(noteOf(root), "utf8")));
  } catch {
    return undefined;
  }
}

/** Jobs may leave directories that their owner may not write to. */
export async function removeAll(directory: string): Promise<void> {
  const remove = () => rm(directory, { recursive: true, force: true, maxRetries: 3 });
  await remove().catch(async () => {
    const options = { stdio: "ignore" } as const;
    await once(spawn("chmod", ["-R", "u+rwX", "--", directory], options), "close");
    await remove();
  });
}
