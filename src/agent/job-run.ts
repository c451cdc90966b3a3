import { randomUUID } from "node:crypto";
import { chmod, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { timeoutSignal } from "../platform/time/timeout-signal.ts";
import { downloadArtifacts, type Transfer, uploadArtifact } from "./artifacts.ts";
import { type Caches, openCaches } from "./cache.ts";
import { type Client, waitedForService } from "./client.ts";
import { shell } from "./executor.ts";
import type { Executor } from "./executor-contract.ts";
import { type Job, JobFailure } from "./job.ts";
import { attemptsOf, isFalse, isTrue, timeoutMsOf } from "./job-settings.ts";
import type { LogFile } from "./log-file.ts";
import { runToEnd } from "./processes.ts";
import { scriptOf } from "./script.ts";
import { sourcesOf } from "./sources.ts";
import type { JobEnd } from "./trace-upload.ts";
import type { JobEnvironment } from "./variables.ts";
import { isInPlace, mustBeInPlace, type Workplace } from "./workplace.ts";

/** What a run is carried out with. */
export type Run = Readonly<{
  job: Job;
  client: Client;
  executor: Executor;
  place: Workplace;
  environment: JobEnvironment;
  /** Why the job cannot run at all. */
  refused?: JobFailure;
  log: LogFile;
  /** Of all projects. */
  cacheDirectory: string;
  /** Aborts, with a JobFailure, what a cancellation or the end of the time ends: all up to the script. */
  script: AbortSignal;
  /** Aborts when nothing of the job may go on. */
  over: AbortSignal;
}>;

const afterScriptMs = 5 * 60_000;
const restartsMax = 5;
const untrackedBytesMax = 16 * 1024 ** 2;

/** Carries out all stages of a job. What goes wrong is in its log. */
export async function carryOut(order: Run): Promise<JobEnd> {
  const caches = openCaches(order.cacheDirectory, order.job.job_info.project_id);
  const { end, run, isRemoved } = await scriptsOf(order, caches);
  if (run.over.aborted || !isRemoved) return end;
  const signal = endOf(run);
  const stored = await attempt(run, async () => {
    await storeCaches(run, caches, { end, signal });
    await upload(run, { end, signal });
  });
  return end.state === "success" ? stored : end;
}

/** Aborts what follows the scripts: by a cancellation or the end of the time too, unless that has ended these. */
const endOf = ({ script, over }: Run): AbortSignal =>
  script.aborted ? over : AbortSignal.any([script, over]);

type Ending = Readonly<{ end: JobEnd; signal: AbortSignal }>;

type Ran = Readonly<{
  end: JobEnd;
  run: Run;
  /** Nothing of the job runs any more. */
  isRemoved: boolean;
}>;

async function scriptsOf(order: Run, caches: Caches): Promise<Ran> {
  let run = order;
  const ready = await attempt(run, async () => {
    run = await prepare(order);
    await sources(run);
    await restoreCaches(run, caches);
    await download(run);
    await run.executor.handOver?.();
  });
  const end = ready.state === "success" ? await userScripts(run) : ready;
  const removed = await attempt(run, async () => run.executor.remove?.(run.place));
  const isRemoved = removed.state === "success";
  return { end: end.state === "success" ? removed : end, run, isRemoved };
}

/** As in gitlab-runner, after_script runs once the script has begun, unless the time of the job is over. */
async function userScripts(run: Run): Promise<JobEnd> {
  const end = await attempt(run, () => steps(run));
  const isTimeout = end.state === "failed" && end.reason === "job_execution_timeout";
  if (run.over.aborted || (isTimeout && run.script.aborted)) return end;
  const after = await attempt(run, () => afterScript(run, end));
  return end.state === "success" ? after : end;
}

/** Turns what was thrown into how the job ends, and writes it into the log. */
async function attempt({ log, over }: Run, work: () => Promise<void>): Promise<JobEnd> {
  try {
    await work();
    return { state: "success" };
  } catch (error) {
    const thrown = over.aborted ? over.reason : error;
    const failure = thrown instanceof JobFailure ? thrown : unexpected(thrown);
    const { reason, exitCode } = failure;
    log.error(`Job failed: ${failure.message}`);
    return { state: "failed", reason, ...(exitCode !== undefined && { exitCode }) };
  }
}

function unexpected(error: unknown): JobFailure {
  const message = error instanceof Error ? error.message : String(error);
  return new JobFailure("runner_system_failure", message);
}

async function prepare(run: Run): Promise<Run> {
  const { log, executor, place, environment, job, refused, script: signal } = run;
  log.title(`with ledgerforge agent, executor ${executor.name}`);
  if (refused !== undefined) throw refused;
  if (executor.name !== "docker" && job.image) {
    log.warn(`The executor ${executor.name} has no images: ${job.image.name} is ignored.`);
  }
  if (executor.name !== "docker" && job.services.length > 0) {
    log.warn(`The executor ${executor.name} starts no services.`);
  }
  // Nothing of the job has run yet, so no path leads elsewhere.
  for (const [name, content] of environment.files) {
    await writeFile(path.join(place.temporary, name), content, { mode: 0o600, flag: "wx" });
  }
  if (executor.prepare === undefined) return run;
  const { prepare } = executor;
  const of = { job, place, environment, log, signal };
  const title = "Preparing the containers";
  return log.section("prepare_executor", title, async () => ({
    ...run,
    executor: await prepare(of),
  }));
}

async function sources(run: Run): Promise<void> {
  const { log, job, environment, executor } = run;
  const onMachine = executor.git === undefined;
  await log.section("get_sources", "Getting source from Git repository", async () => {
    const before = job.hooks.find(({ name }) => name === "pre_get_sources_script");
    // It could leave a repository whose hooks and configuration git on this machine would run.
    if (before !== undefined && onMachine) {
      log.warn(`The executor ${executor.name} runs no pre_get_sources_script.`);
    } else if (before !== undefined) {
      await script(run, { lines: before.script, echoed: true, withGit: true });
    }
    const found = sourcesOf(job, environment, { onMachine });
    if (found === undefined) return log.write("Skipping Git repository setup\n");
    const more = { variables: found.variables };
    let left = attemptsOf(environment.values, "GET_SOURCES_ATTEMPTS");
    for (let awaited = 0; ; ) {
      try {
        return await script(run, { lines: found.lines, echoed: false, withGit: true, ...more });
      } catch (error) {
        if (run.script.aborted || run.over.aborted) throw error;
        // A restart of the service is no fault of the job.
        const wasAway = awaited < restartsMax && (await waitedForService(run.client, run.script));
        if (wasAway) awaited += 1;
        else left -= 1;
        if (left < 1) throw error;
        log.warn("Getting the source failed; it is tried again.");
      }
    }
  });
}

async function download(run: Run): Promise<void> {
  const { job, log, environment } = run;
  if (!job.dependencies.some(({ artifacts_file: file }) => file?.filename)) return;
  await log.section("download_artifacts", "Downloading artifacts", async () => {
    let left = attemptsOf(environment.values, "ARTIFACT_DOWNLOAD_ATTEMPTS");
    for (;;) {
      try {
        await mustBeInPlace(run.place);
        return await downloadArtifacts(transferOf(run, run.script));
      } catch (error) {
        run.script.throwIfAborted();
        left -= 1;
        if (left < 1) throw error;
        log.warn(`Downloading artifacts failed; it is tried again: ${messageOf(error)}`);
      }
    }
  });
}

async function steps(run: Run): Promise<void> {
  const { job, log, environment } = run;
  const limitMs = timeoutMsOf(environment.values, "RUNNER_SCRIPT_TIMEOUT");
  await limited({ limitMs, signal: run.script, what: "The script" }, async (signal) => {
    for (const { name, script: lines } of job.steps) {
      if (name === "after_script" || lines.length === 0) continue;
      const title = name === "script" ? "Executing the script of the job" : `Executing ${name}`;
      await log.section("step_script", title, () => script(run, { lines, echoed: true, signal }));
    }
  });
}

type Limit = Readonly<{ limitMs: number | undefined; signal: AbortSignal; what: string }>;

/** @throws JobFailure when the time is over */
async function limited(
  { limitMs, signal, what }: Limit,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  if (limitMs === undefined) return work(signal);
  const limit = timeoutSignal(limitMs);
  try {
    await work(AbortSignal.any([signal, limit]));
  } catch (error) {
    if (signal.aborted || !limit.aborted) throw error;
    const message = `${what} took longer than ${limitMs / 1_000} seconds.`;
    throw new JobFailure("job_execution_timeout", message);
  }
}

/** What it ends with does not matter to the job, unless `AFTER_SCRIPT_IGNORE_ERRORS` is false. */
async function afterScript(run: Run, end: JobEnd): Promise<void> {
  const { job, log, over, environment } = run;
  const step = job.steps.find(({ name }) => name === "after_script");
  if (step === undefined || step.script.length === 0) return;
  const isCanceled = end.state === "failed" && end.reason === "job_canceled";
  const status = isCanceled ? "canceled" : end.state;
  const variables = new Map([["CI_JOB_STATUS", status]]);
  const limitMs = timeoutMsOf(environment.values, "RUNNER_AFTER_SCRIPT_TIMEOUT") ?? afterScriptMs;
  try {
    await log.section("after_script", "Running after_script", () =>
      limited({ limitMs, signal: over, what: "The after_script" }, (signal) =>
        script(run, { lines: step.script, echoed: true, variables, signal }),
      ),
    );
  } catch (error) {
    if (over.aborted) return;
    if (isFalse(environment.values.get("AFTER_SCRIPT_IGNORE_ERRORS"))) throw error;
    log.warn("after_script failed, but the job goes on as it was.");
  }
}

type Script = Readonly<{
  lines: readonly string[];
  echoed: boolean;
  variables?: ReadonlyMap<string, string>;
  signal?: AbortSignal;
  /** Where git of the job is run; on the machine without the variables of the job. */
  withGit?: boolean;
  onOutput?: (data: Buffer) => void;
}>;

/** @throws JobFailure */
async function script(run: Run, options: Script): Promise<void> {
  const { place, executor, environment, log, over } = run;
  const { lines, echoed, variables, signal = run.script, withGit = false } = options;
  const onMachine = withGit && executor.git === undefined;
  const seen = onMachine ? place : place.seen;
  const name = `${randomUUID()}.sh`;
  const file = path.join(place.scripts, name);
  const text = scriptOf({
    variables: new Map([...(onMachine ? [] : environment.values), ...(variables ?? [])]),
    directory: seen.project,
    lines,
    echoed,
    traced: echoed && isTrue(environment.values.get("CI_DEBUG_TRACE")),
  });
  await writeFile(file, text, { mode: 0o600, flag: "wx" });
  // The user of a container reads it; other users of this machine cannot reach the directory.
  await chmod(file, 0o644);
  const by = withGit ? gitRunner(executor) : executor;
  const both = AbortSignal.any([signal, over]);
  both.throwIfAborted();
  const onOutput = options.onOutput ?? ((data: Buffer) => log.write(data));
  const command = by.command(place, `${seen.scripts}/${name}`);
  const ended = await runToEnd(command, { onOutput, signal: both, over });
  await rm(file, { force: true });
  if (both.aborted || ended.code === null) await by.clean();
  both.throwIfAborted();
  await by.mustHaveRun?.(ended.code);
  if (ended.code === 0) return;
  const how = ended.code === null ? `signal ${ended.signal}` : `exit code ${ended.code}`;
  throw new JobFailure("script_failure", how, ended.code ?? 1);
}

function gitRunner(executor: Executor): Executor {
  if (executor.git === undefined) return shell;
  return executor.git === "with the job" ? executor : executor.git;
}

async function restoreCaches(run: Run, caches: Caches): Promise<void> {
  const { job, log, environment, place } = run;
  const wanted = job.cache.filter(({ policy }) => policy !== "push");
  if (wanted.length === 0) return;
  await log.section("restore_cache", "Restoring cache", async () => {
    await mustBeInPlace(run.place);
    for (const { key, fallback_keys: fallbacks } of wanted) {
      const keys = [key, ...fallbacks].map(environment.expand);
      try {
        const found = await caches.restore(keys, place.project, run.script);
        log.write(found === undefined ? `No cache for ${keys[0]}\n` : `Restored ${found}\n`);
      } catch (error) {
        run.script.throwIfAborted();
        log.warn(`The cache was not restored: ${messageOf(error)}`);
      }
    }
  });
}

const fits = (when: "on_success" | "on_failure" | "always", end: JobEnd): boolean =>
  when === "always" || (when === "on_success") === (end.state === "success");

async function storeCaches(run: Run, caches: Caches, { end, signal }: Ending): Promise<void> {
  const { job, log, environment, place } = run;
  const wanted = job.cache.filter(({ policy, when }) => policy !== "pull" && fits(when, end));
  if (wanted.length === 0) return;
  await log.section("archive_cache", "Saving cache", async () => {
    for (const { key, paths, untracked } of wanted) {
      try {
        // Of a project that was removed nothing is found.
        await isInPlace(place);
        const also = untracked ? await untrackedOf(run, signal) : new Set<string>();
        const which = { paths: paths.map(environment.expand), exclude: [], also, signal };
        const seenRoot = place.seen.project;
        const name = environment.expand(key);
        const files = await caches.store(name, place.project, { ...which, seenRoot });
        log.write(files === 0 ? `Nothing to cache for ${name}\n` : `Cached ${files} as ${name}\n`);
      } catch (error) {
        signal.throwIfAborted();
        log.warn(`The cache was not stored: ${messageOf(error)}`);
      }
    }
  });
}

async function upload(run: Run, { end, signal }: Ending): Promise<void> {
  const { job, log } = run;
  const wanted = job.artifacts.filter(({ when }) => fits(when, end));
  if (wanted.length === 0) return;
  const outcome = end.state === "success" ? "success" : "failure";
  const name = `upload_artifacts_on_${outcome}`;
  await log.section(name, `Uploading artifacts for ${end.state} job`, async () => {
    await isInPlace(run.place);
    for (const artifact of wanted) {
      await uploadArtifact(artifact, transferOf(run, signal)).catch((error: unknown) => {
        signal.throwIfAborted();
        throw new JobFailure("script_failure", `artifacts: ${messageOf(error)}`, 1);
      });
    }
  });
}

function transferOf(run: Run, signal: AbortSignal): Transfer {
  const { client, job, log, place, environment } = run;
  return {
    ...{ client, job, log, signal },
    scratch: place.root,
    root: place.project,
    seenRoot: place.seen.project,
    expand: environment.expand,
    untracked: () => untrackedOf(run, signal),
  };
}

/**
 * Runs git inside the sandbox: the job may have changed the configuration of its repository.
 *
 * @returns paths with a character for each byte
 */
async function untrackedOf(run: Run, signal: AbortSignal): Promise<ReadonlySet<string>> {
  if (run.executor.git === undefined) {
    run.log.warn(`The executor ${run.executor.name} finds no untracked files.`);
    return new Set();
  }
  if (!(await isInPlace(run.place))) return new Set();
  const pieces: Buffer[] = [];
  let bytes = 0;
  const onOutput = (data: Buffer): void => {
    bytes += data.length;
    if (bytes <= untrackedBytesMax) pieces.push(data);
  };
  await script(run, {
    lines: ["git ls-files -z --others"],
    echoed: false,
    withGit: true,
    onOutput,
    signal,
  });
  // What the job put in the place of git has run.
  await isInPlace(run.place);
  return new Set(Buffer.concat(pieces).toString("latin1").split("\0").filter(Boolean));
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
