import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";

import { ConfigError, type Environment, type Settings } from "../config.ts";
import { type Kept, keepRunning, type Running } from "./keep-running.ts";
import { type NodeChild, startNodeChild } from "./node-child.ts";
import { claimPidFile, PidFileHeld, releasePidFile, stopHolder } from "./pid-file.ts";
import { startPostgres } from "./postgres/server.ts";
import { ensureSecretFile } from "./secret-file.ts";
import { removeServiceFile, secretKeyFile, writeServiceFile } from "./service-file.ts";

export type SupervisorOptions = Readonly<{
  settings: Settings;
  /** What the children get besides the addresses of the stores. */
  environment: Environment;
  /** The script that is `ledgerforge`. */
  program: string;
  roles: readonly string[];
  /** Ends a start that is under way. */
  signal: AbortSignal;
  /** Told what a person at the terminal should know. */
  report: (text: string) => void;
}>;

export type Supervised = Readonly<{
  /** What the roles said when they got ready, by name. */
  ready: Readonly<Record<string, unknown>>;
  /** Rejects when a child keeps ending; never resolves. */
  givenUp: Promise<never>;
  /** Ends everything in the order that loses nothing. */
  close: () => Promise<void>;
}>;

/** 32 bytes: as strong as the keys derived from it. */
const secretKeyBytes = 32;
const orphanTimeoutMs = 10_000;
/** Together with PostgreSQL's own shutdown they stay below the ten seconds of a Ctrl-C. */
const roleCloseTimeoutMs = 6_500;
const storeCloseTimeoutMs = 1_500;

/**
 * Runs the whole service on one machine: the stores that have no address in the settings, and a
 * process for each role. What ends by itself is started again.
 *
 * @throws ConfigError when another supervisor has the data directory; Error with the end of a log when
 * something does not start; the signal's reason when it aborts before everything runs.
 */
export async function supervise(options: SupervisorOptions): Promise<Supervised> {
  const { dataDir } = options.settings;
  const runDir = path.join(dataDir, "run");
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await mkdir(runDir, { recursive: true, mode: 0o700 });
  await mkdir(path.join(dataDir, "log"), { recursive: true, mode: 0o700 });
  const pidFile = await claim(dataDir);

  const started: Kept<Running>[][] = [];
  const close = async (): Promise<void> => {
    for (const group of started.toReversed()) await Promise.all(group.map((kept) => kept.close()));
    await removeServiceFile(dataDir);
    await releasePidFile(pidFile);
  };
  try {
    await stopOrphans(runDir);
    const ready = await startAll(options, started);
    return { ready, givenUp: Promise.race(started.flat().map((kept) => kept.givenUp)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Two supervisors would stop each other's children as orphans, for ever. */
async function claim(dataDir: string): Promise<string> {
  const pidFile = path.join(dataDir, "supervisor.pid");
  try {
    await claimPidFile(pidFile, process.pid);
    return pidFile;
  } catch (error) {
    if (!(error instanceof PidFileHeld)) throw error;
    throw new ConfigError(`The service already runs on ${dataDir}, as process ${error.pid}.`);
  }
}

/** Children of a supervisor that was killed are ending by themselves; here is waited for their end. */
async function stopOrphans(runDir: string): Promise<void> {
  const files = (await readdir(runDir)).filter((file) => file.endsWith(".pid"));
  await Promise.all(files.map((file) => stopHolder(path.join(runDir, file), orphanTimeoutMs)));
}

/** Starts stores before what uses them; `started` grows as they come up, a group each step. */
async function startAll(
  options: SupervisorOptions,
  started: Kept<Running>[][],
): Promise<Record<string, unknown>> {
  const { settings, report, roles } = options;
  const databaseUrl = settings.databaseUrl ?? (await startDatabase(options, started));
  options.signal.throwIfAborted();
  const secretKey =
    settings.secretKey ?? (await ensureSecretFile(secretKeyFile(settings.dataDir), secretKeyBytes));
  const environment = {
    ...options.environment,
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    DATA_DIR: settings.dataDir,
  };
  const eventStoreUrl =
    settings.eventStoreUrl ?? (await startEventStore(options, environment, started));

  options.signal.throwIfAborted();

  const group: Kept<Running>[] = [];
  started.push(group);
  const startRole = async (name: string): Promise<readonly [string, unknown]> => {
    const kept = await keepRunning<NodeChild<unknown>>({
      name,
      report,
      start: () =>
        startNodeChild({
          ...childFiles(options, name),
          args: ["start", name],
          environment: { ...environment, EVENTSTORE_URL: eventStoreUrl },
          closeTimeoutMs: roleCloseTimeoutMs,
        }),
    });
    group.push(kept);
    return [name, kept.current().ready];
  };
  // All of them have come up or failed before the first failure ends the others.
  const results = await Promise.allSettled(roles.map(startRole));
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  await writeServiceFile(settings.dataDir, { databaseUrl, eventStoreUrl });
  return Object.fromEntries(results.flatMap((r) => (r.status === "fulfilled" ? [r.value] : [])));
}

async function startDatabase(
  { settings, report }: SupervisorOptions,
  started: Kept<Running>[][],
): Promise<string> {
  const kept = await keepRunning({
    name: "PostgreSQL",
    report,
    start: (previous?: Readonly<{ port: number | undefined }>) =>
      startPostgres({ dataDir: settings.dataDir, port: previous?.port }),
  });
  started.push([kept]);
  return kept.current().url;
}

type EventStoreReady = Readonly<{ url: string; port: number }>;

async function startEventStore(
  options: SupervisorOptions,
  environment: Environment,
  started: Kept<Running>[][],
): Promise<string> {
  const kept = await keepRunning<NodeChild<EventStoreReady>>({
    name: "event store",
    report: options.report,
    start: (previous) =>
      startNodeChild({
        ...childFiles(options, "event-store"),
        args: ["event-store", "--port", String(previous?.ready.port ?? 0)],
        environment,
        closeTimeoutMs: storeCloseTimeoutMs,
      }),
  });
  started.push([kept]);
  return kept.current().ready.url;
}

function childFiles({ settings, program }: SupervisorOptions, name: string) {
  return {
    program,
    logFile: path.join(settings.dataDir, "log", `${name}.log`),
    pidFile: path.join(settings.dataDir, "run", `${name}.pid`),
  };
}
