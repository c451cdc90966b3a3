import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

import type { Config } from "./config.ts";
import type { Administrator } from "./first-administrator.ts";
import { watchEventLoop } from "./platform/event-loop/watch.ts";
import { StoreUnavailable } from "./platform/event-store/event-store.ts";
import { openLog } from "./platform/log.ts";
import { throttledLog } from "./platform/throttled-log.ts";

/** What can be started apart from each other, any number of times. */
export const roleNames = ["http", "projections", "workers", "ssh"] as const;
export type RoleName = (typeof roleNames)[number];

type Running = Readonly<{ close: () => Promise<void> }>;

export type RunningRoles = Running &
  Readonly<{
    /** Of the role http. */
    url?: string;
    administrator?: Administrator;
    /** Of the role ssh. */
    sshPort?: number;
  }>;

/** Modules are loaded by role, because loading them is most of a start. */
const modules = {
  platform: () =>
    Promise.all([
      import("./platform/postgres.ts"),
      import("./platform/migrate.ts"),
      import("./platform/event-store/eventstoredb.ts"),
      import("./platform/key/vault.ts"),
    ]),
  git: () => import("./git/repositories.ts"),
  work: () => Promise.all([import("./platform/queue/queue.ts"), import("./platform/blob/open.ts")]),
  http: () => Promise.all([import("./first-administrator.ts"), import("./http/role.ts")]),
  hold: () => import("./services/core/reactor-hold.ts"),
  keys: () => import("./projections/audit/lost-keys.ts"),
  reading: () => import("./projections/progress/caught-up.ts"),
  projections: () => import("./projections/role.ts"),
  workers: () => import("./workers/role.ts"),
  ssh: () => import("./ssh/role.ts"),
};

/** Loads what roles are made of, for when it is known already that they will be started. */
export async function preload(names: readonly RoleName[]): Promise<void> {
  await Promise.all([modules.platform(), modules.hold(), ...names.map((name) => modules[name]())]);
  if (names.some(hasGit)) await modules.git();
  if (names.some(works)) await modules.work();
}

const hasGit = (name: RoleName): boolean => name !== "projections";
/** Who adds jobs or does them, and touches large files. */
const works = (name: RoleName): boolean => name === "http" || name === "workers";

/** What every role works with, one of each a process. */
export type Platform = Awaited<ReturnType<typeof openPlatform>>;

/**
 * Opens the connections to the stores and brings the tables up to date.
 *
 * @param name of the process in the logs and in the database's list of sessions.
 */
export async function openPlatform(config: Config, name: string) {
  const log = openLog(config.logLevel, name);
  const [{ openPostgres }, { migrate }, { openEventStore }, { openVault }] =
    await modules.platform();
  const applicationName = `ledgerforge ${name}`;
  const db = openPostgres(config.databaseUrl, { applicationName });
  await migrate(db);
  const onClock = (aheadMs: number): void => {
    if (Math.abs(aheadMs) < clockWarningMs) return;
    log.warn({ aheadMs }, "the clocks of this machine and of the event store differ");
  };
  const store = openEventStore(config.eventStoreUrl, { onClock });
  return {
    config,
    log,
    applicationName,
    db,
    store,
    vault: openVault(db, config.secretKey),
    async close() {
      await store.close();
      await db.destroy();
    },
  };
}

/** Times of events and of what the service does because of them are compared. */
const clockWarningMs = 5_000;

/** For roles that answer requests: their connections read nothing older than what was acknowledged. */
async function forReaders<P extends Platform>(platform: P, running: Running[]): Promise<P> {
  const { config, applicationName, store } = platform;
  const [{ openPostgres }] = await modules.platform();
  const { mustBeCaughtUp } = await modules.reading();
  const onConnect = mustBeCaughtUp(store);
  const db = openPostgres(config.databaseUrl, { applicationName, onConnect });
  running.push({ close: () => db.destroy() });
  return { ...platform, db };
}

/** The platform with repositories. */
async function openRepositories(platform: Platform) {
  const { config, log } = platform;
  const { openGit } = await modules.git();
  const { dataDir, packCacheBytesMax } = config;
  const git = openGit({ dataDir, packCacheBytesMax, log });
  return { ...platform, git, close: () => git.close() };
}

type Repositories = Awaited<ReturnType<typeof openRepositories>>;

/** With queues and large files as well. */
async function openWork(repositories: Repositories) {
  const { config, log, db } = repositories;
  const { databaseUrl, redisUrl } = config;
  const [{ openQueues }, { openBlobs }] = await modules.work();
  const queues = await openQueues({ databaseUrl, redisUrl, log });
  const blobs = await openBlobs(config, db);
  return {
    ...repositories,
    blobs,
    queues,
    async close() {
      blobs.close();
      await queues.close();
    },
  };
}

type Work = Awaited<ReturnType<typeof openWork>>;

const pingTimeoutMs = 2_000;

export type StartOptions = Readonly<{
  /** Ends a start that waits for a store; what has begun to run is closed by the caller. */
  signal: AbortSignal;
  /** Receives why the start waits. */
  onWaiting?: (why: string) => void;
}>;

/**
 * Fails at once on a store of an unsupported version; the roles wait for one that cannot be reached, or denies access,
 * and that is reported once.
 */
async function mustSupportStore({ store }: Platform, { onWaiting }: StartOptions): Promise<void> {
  try {
    await store.ping(pingTimeoutMs);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    onWaiting?.(`Waiting for the event store: ${error.message}`);
  }
}

/** Before anything is written: what is sealed with other keys is lost to the right ones. */
async function mustHaveRightKeys(platform: Platform, signal: AbortSignal): Promise<void> {
  const { db, store, config } = platform;
  const [, , , { checkSecretKey }] = await modules.platform();
  if (await checkSecretKey(db, config.secretKey)) return;
  const { mustHaveKeys } = await modules.keys();
  await onceStoreAnswers(platform, signal, () => mustHaveKeys({ db, store }));
}

/** Tries again, and logs why, as long as the store cannot be reached. */
async function onceStoreAnswers<Result>(
  { store, log }: Platform,
  signal: AbortSignal,
  task: () => Promise<Result>,
): Promise<Result> {
  const report = throttledLog((err: unknown) => log.warn({ err }, "waiting for the event store"));
  for (;;) {
    try {
      // A read has no limit of its own.
      await store.ping(pingTimeoutMs);
      return await task();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      report(error);
      await delay(storeRetryMs, undefined, { signal });
    }
  }
}

const storeRetryMs = 1_000;

/** A log of which only the beginning is there must not be worked on, nor written to. */
async function mustHaveWholeLog({ db }: Platform): Promise<void> {
  const { areReactorsHeld, LogNotWhole } = await modules.hold();
  if (!(await areReactorsHeld(db))) return;
  throw new LogNotWhole(
    "The log of this instance is not whole: `ledgerforge restore` or `events import` was begun and has not " +
      "ended. Run it again, to its end, before the service is started",
  );
}

/** Fails as soon as the signal aborts; the task itself may go on. */
async function unlessAborted<Result>(signal: AbortSignal, task: Promise<Result>): Promise<Result> {
  const ended = new AbortController();
  const aborted = once(signal, "abort", { signal: ended.signal });
  try {
    const fail = (): never => {
      throw signal.reason;
    };
    return await Promise.race([task, aborted.then(fail)]);
  } finally {
    ended.abort();
  }
}

/** All that comes before the roles begin to work. */
async function prepare(
  platform: Platform,
  names: readonly RoleName[],
  options: StartOptions,
): Promise<Pick<RunningRoles, "administrator">> {
  const { signal } = options;
  await mustSupportStore(platform, options);
  await mustHaveWholeLog(platform);
  await mustHaveRightKeys(platform, signal);
  const { prepareTables } = await modules.projections();
  await prepareTables(platform);
  if (!names.includes("http")) return {};
  const [{ firstAdministrator }] = await modules.http();
  const make = () => firstAdministrator(platform.config, platform);
  return { administrator: await onceStoreAnswers(platform, signal, make) };
}

/**
 * Runs roles in this process until closed.
 *
 * @throws UnsupportedServer
 * @throws WrongSecretKey, KeysLost
 * @throws LogNotWhole when a restore was begun and has not ended
 */
export async function startRoles(
  config: Config,
  names: readonly RoleName[],
  options: StartOptions,
): Promise<RunningRoles> {
  const { signal } = options;
  const role = names.join(" ");
  const platform = await openPlatform(config, role);
  const { eventLoopStallSeconds: stallSeconds, dataDir } = config;
  const watch = watchEventLoop({ stallSeconds, dataDir, role, log: platform.log });
  const running: Running[] = [platform, watch];
  const close = async (): Promise<void> => {
    for (const part of running.toReversed()) await part.close();
    platform.log.info("closed");
  };
  try {
    signal.throwIfAborted();
    const prepared = await unlessAborted(signal, prepare(platform, names, options));
    if (names.includes("projections")) {
      const { startProjections } = await modules.projections();
      running.push(await startProjections(platform));
    }
    const answering = names.some(hasGit) ? await startWithGit(platform, names, running) : {};
    platform.log.info("ready");
    return { ...prepared, ...answering, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startWithGit(platform: Platform, names: readonly RoleName[], running: Running[]) {
  const repositories = await openRepositories(platform);
  running.push(repositories);
  const answering = names.some(works) ? await startWork(repositories, names, running) : {};
  return names.includes("ssh")
    ? { ...answering, ...(await startGitSsh(repositories, running)) }
    : answering;
}

async function startWork(
  repositories: Repositories,
  names: readonly RoleName[],
  running: Running[],
) {
  const work = await openWork(repositories);
  running.push(work);
  if (names.includes("workers")) {
    const { startWorkers } = await modules.workers();
    running.push(await startWorkers(work));
  }
  return names.includes("http") ? await startAnswering(work, running) : {};
}

async function startAnswering(work: Work, running: Running[]) {
  const [, { startHttp }] = await modules.http();
  const http = await startHttp(await forReaders(work, running));
  running.push(http);
  return { url: http.url };
}

async function startGitSsh(repositories: Repositories, running: Running[]) {
  const { startSsh } = await modules.ssh();
  const ssh = await startSsh(await forReaders(repositories, running));
  running.push(ssh);
  return { sshPort: ssh.port };
}
