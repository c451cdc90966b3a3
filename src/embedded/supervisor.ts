import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";

import { ConfigError, type Environment, type Settings } from "../config.ts";
import { mustBeFree } from "./busy-port.ts";
import { type Kept, keepRunning, type Running } from "./keep-running.ts";
import { type Settings as ChildSettings, type NodeChild, startNodeChild } from "./node-child.ts";
import { claimPidFile, PidFileHeld, releasePidFile, stopHolder } from "./pid-file.ts";
import { startPostgres } from "./postgres/server.ts";
import { keepPrivate, socketPlace } from "./private-directory.ts";
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
  /** Receives messages for the person at the terminal. */
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
 * @throws ConfigError when another supervisor has the data directory or a port is in use; Error with the end of a log when
 * something does not start; the signal's reason when it aborts before everything runs.
 */
export async function supervise(options: SupervisorOptions): Promise<Supervised> {
  const { dataDir } = options.settings;
  const runDir = path.join(dataDir, "run");
  for (const text of await keepPrivate(dataDir)) options.report(text);
  await mkdir(runDir, { recursive: true, mode: 0o700 });
  await mkdir(path.join(dataDir, "log"), { recursive: true, mode: 0o700 });
  const pidFile = await claim(dataDir);

  const started: Started = { database: [], eventStore: [], roles: [], sockets: [] };
  const close = async (): Promise<void> => {
    for (const group of [started.roles, started.eventStore, started.database]) {
      await Promise.all(group.map((kept) => kept.close()));
    }
    await Promise.all(started.sockets.map(({ remove }) => remove()));
    await removeServiceFile(dataDir);
    await releasePidFile(pidFile);
  };
  try {
    await stopOrphans(runDir);
    const { host, port, sshHost, sshPort } = options.settings;
    await mustBeFree(host, port, "PORT");
    await mustBeFree(sshHost, sshPort, "SSH_PORT");
    const ready = await startAll(options, started);
    const all = [...started.roles, ...started.eventStore, ...started.database];
    return { ready, givenUp: Promise.race(all.map((kept) => kept.givenUp)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What has come up so far; closed from the users of a store to the store. */
type Started = Readonly<{
  database: Kept<Running>[];
  eventStore: Kept<Running>[];
  roles: Kept<Running>[];
  sockets: { remove: () => Promise<void> }[];
}>;

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

/** Starts every process at once; each receives the addresses of the stores as soon as they are up. */
async function startAll(
  options: SupervisorOptions,
  started: Started,
): Promise<Record<string, unknown>> {
  const database = databaseSettings(options, started);
  const stores = eventStoreSettings(options, database, started);
  // All roles wait for the same store.
  const reported = new Set<string>();
  const onWaiting = (why: string): void => {
    if (!reported.has(why)) options.report(why);
    reported.add(why);
  };
  // All of them have come up or failed before the first failure ends the others.
  const [, ...results] = await Promise.allSettled([
    stores,
    ...options.roles.map((name) => startRole(name, { ...options, onWaiting }, stores, started)),
  ]);
  const { DATABASE_URL: databaseUrl = "", EVENTSTORE_URL: eventStoreUrl = "" } = await stores;
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  await writeServiceFile(options.settings.dataDir, { databaseUrl, eventStoreUrl });
  return Object.fromEntries(results.flatMap((r) => (r.status === "fulfilled" ? [r.value] : [])));
}

async function startRole(
  name: string,
  options: SupervisorOptions & Readonly<{ onWaiting: (why: string) => void }>,
  settings: Promise<ChildSettings>,
  started: Started,
): Promise<readonly [string, unknown]> {
  const kept = await keepRunning<NodeChild<unknown>>({
    name,
    report: options.report,
    start: () =>
      startNodeChild({
        ...childFiles(options, name),
        args: ["start", "--supervised", name],
        environment: options.environment,
        onWaiting: options.onWaiting,
        settings,
        closeTimeoutMs: roleCloseTimeoutMs,
      }),
  });
  started.roles.push(kept);
  return [name, kept.current().ready];
}

async function databaseSettings(
  options: SupervisorOptions,
  started: Started,
): Promise<ChildSettings> {
  const { settings, signal, report } = options;
  const { dataDir } = settings;
  const secretKey =
    settings.secretKey ?? (await ensureSecretFile(secretKeyFile(dataDir), secretKeyBytes));
  const known = { SECRET_KEY: secretKey, DATA_DIR: dataDir };
  if (settings.databaseUrl !== undefined) return { ...known, DATABASE_URL: settings.databaseUrl };

  const kept = await keepRunning({
    name: "PostgreSQL",
    report,
    start: (previous?: Readonly<{ port: number | undefined }>) =>
      startPostgres({ dataDir, port: previous?.port }),
  });
  started.database.push(kept);
  signal.throwIfAborted();
  return { ...known, DATABASE_URL: kept.current().url };
}

type EventStoreReady = Readonly<{ url: string }>;

async function eventStoreSettings(
  options: SupervisorOptions,
  database: Promise<ChildSettings>,
  started: Started,
): Promise<ChildSettings> {
  const { eventStoreUrl } = options.settings;
  if (eventStoreUrl !== undefined) return { ...(await database), EVENTSTORE_URL: eventStoreUrl };

  const { file, remove } = await socketPlace(path.join(options.settings.dataDir, "run"), "es.sock");
  started.sockets.push({ remove });
  const kept = await keepRunning<NodeChild<EventStoreReady>>({
    name: "event store",
    report: options.report,
    start: () =>
      startNodeChild({
        ...childFiles(options, "event-store"),
        args: ["event-store", "--supervised", "--socket", file],
        environment: options.environment,
        settings: database,
        closeTimeoutMs: storeCloseTimeoutMs,
      }),
  });
  started.eventStore.push(kept);
  options.signal.throwIfAborted();
  return { ...(await database), EVENTSTORE_URL: kept.current().ready.url };
}

function childFiles({ settings, program }: SupervisorOptions, name: string) {
  return {
    program,
    logFile: path.join(settings.dataDir, "log", `${name}.log`),
    pidFile: path.join(settings.dataDir, "run", `${name}.pid`),
  };
}
