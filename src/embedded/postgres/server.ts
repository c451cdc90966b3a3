import { spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { freePort } from "../busy-port.ts";
import { logTail, rotateLog } from "../log-file.ts";
import { isSocketPath } from "../private-directory.ts";
import { until } from "../process.ts";
import { watch } from "../watchdog.ts";
import { locateBinaries } from "./binaries.ts";
import { type ClusterPaths, clusterPaths, ensureCluster } from "./cluster.ts";
import { clearEarlierRun, readPostmasterPid, stopServer } from "./postmaster-pid.ts";
import { assertReachable, chooseRunAs, type RunAs } from "./run-as.ts";

export type PostgresOptions = Readonly<{
  dataDir: string;
  /** False gives up safety against power failure, for databases that are thrown away. */
  durable?: boolean;
  runAs?: RunAs;
  /** Used where the path of a socket would be too long; any free one by default. */
  port?: number | undefined;
}>;

export type PostgresServer = Readonly<{
  /** Of the database `postgres`, as its superuser. */
  url: string;
  pid: number;
  /** Of 127.0.0.1; undefined when it listens on a socket alone. */
  port: number | undefined;
  /** Resolves when the server has ended, by `close` or by itself. */
  exited: Promise<void>;
  /** Waits until all is written and the server has ended. */
  close: () => Promise<void>;
}>;

/** After a crash it first reads the log of what it had not yet written, which may be long. */
const readyTimeoutMs = 300_000;
const attemptsMax = 6;
const retryMs = 250;

/**
 * Starts the embedded PostgreSQL of a data directory and makes its database on the first start. It ends
 * with this process, however this process ends.
 *
 * @throws Error with the end of the server's log when it does not come up.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { durable = true } = options;
  const paths = clusterPaths(options.dataDir);
  const binaries = await locateBinaries();
  const runAs = options.runAs ?? (await chooseRunAs());
  const password = await ensureCluster(paths, binaries, runAs, durable);
  await assertReachable(runAs, [binaries.postgres, paths.pgDir, paths.socketDir]);
  await clearEarlierRun(paths.pgDir, paths.socketDir);
  await rotateLog(paths.logFile);
  const address = await chooseAddress(paths.socketDir, options.port);

  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce({
        paths,
        postgres: binaries.postgres,
        runAs,
        password,
        address,
        durable,
      });
    } catch (error) {
      if (attempt === attemptsMax || !isHeld(error)) throw error;
      await delay(retryMs * attempt);
    }
  }
}

/** Sessions of a server that was killed take a moment to notice, and hold the directory meanwhile. */
function isHeld(error: unknown): boolean {
  return error instanceof Error && /shared memory block|lock file/.test(error.message);
}

type Attempt = Readonly<{
  paths: ClusterPaths;
  postgres: string;
  runAs: RunAs;
  password: string;
  address: Address;
  durable: boolean;
}>;

async function startOnce(attempt: Attempt): Promise<PostgresServer> {
  const { paths, postgres, runAs, address } = attempt;
  const args = ["-D", paths.pgDir, ...settings(address, paths.socketDir, attempt.durable)];
  const [program = "", ...rest] = [...runAs.prefix, postgres, ...args];
  const log = await open(paths.logFile, "a", 0o600);
  const logStart = (await log.stat()).size;
  // Detached: a Ctrl-C in the terminal must reach the supervisor alone, which ends the rest in order.
  const child = spawn(program, rest, {
    cwd: "/",
    env: { LC_ALL: "C" },
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
    ...runAs.user,
  });
  let ended = false;
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve())).then(() => {
    ended = true;
  });
  try {
    await once(child, "spawn");
  } finally {
    await log.close();
  }
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} has no pid`);

  const watchdog = watch(pid, "INT");
  void exited.then(watchdog.dismiss);
  const isReady = async (): Promise<boolean> => {
    const status = await readPostmasterPid(paths.pgDir);
    return ended || (status?.pid === pid && status.ready);
  };
  const ready = await until(isReady, readyTimeoutMs);
  if (ended || !ready) {
    if (!ended) await stopServer(pid, async () => ended);
    throw new Error(`PostgreSQL did not start. ${await logTail(paths.logFile, logStart)}`);
  }
  return {
    url: serverUrl(address, paths.socketDir, attempt.password),
    pid,
    port: address.port,
    exited,
    close: async () => {
      if (!ended) await stopServer(pid, async () => ended);
    },
  };
}

/** A port of the loopback address, or the socket directory alone. */
type Address = Readonly<{ port: number | undefined }>;

/** The socket keeps other users out by the directory's mode; a deep data directory needs a port. */
async function chooseAddress(socketDir: string, wanted: number | undefined): Promise<Address> {
  const socket = path.join(socketDir, ".s.PGSQL.5432");
  if (isSocketPath(socket)) return { port: undefined };
  return { port: wanted ?? (await freePort()) };
}

function settings({ port }: Address, socketDir: string, durable: boolean): string[] {
  const values = {
    listen_addresses: port === undefined ? "" : "127.0.0.1",
    port: String(port ?? 5432),
    unix_socket_directories: port === undefined ? socketDir : "",
    unix_socket_permissions: "0700",
    // Every worker and every listener keeps a connection of its own; a server that is thrown away serves many
    // instances at once.
    max_connections: durable ? "400" : "1000",
    password_encryption: "scram-sha-256",
    // What is read at random is in memory or on a solid disk: an index is worth it for few rows.
    random_page_cost: "1.1",
    log_checkpoints: "off",
    ...(durable ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
  };
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

function serverUrl({ port }: Address, socketDir: string, password: string): string {
  const host = port === undefined ? encodeURIComponent(socketDir) : `127.0.0.1:${port}`;
  return `postgres://postgres:${password}@${host}/postgres`;
}
