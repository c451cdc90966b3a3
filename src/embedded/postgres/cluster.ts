import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { access, chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import type { PostgresBinaries } from "./binaries.ts";
import { handOver, type RunAs } from "./run-as.ts";

const run = promisify(execFile);

/** Where a cluster and what belongs to it live below the data directory. */
export type ClusterPaths = Readonly<{
  /** Named after the major version: another one cannot read it. */
  pgDir: string;
  passwordFile: string;
  socketDir: string;
  logFile: string;
}>;

export function clusterPaths(dataDir: string): ClusterPaths {
  const root = path.resolve(dataDir);
  return {
    pgDir: path.join(root, "pg18"),
    passwordFile: path.join(root, "pg-password"),
    socketDir: path.join(root, "run"),
    logFile: path.join(root, "log", "postgres.log"),
  };
}

/**
 * Makes the cluster on the first start. It is made under another name and renamed when complete, so a
 * start that was cut off leaves nothing that looks like a database.
 *
 * @param durable false leaves out waiting for the disk, for databases that are thrown away.
 * @returns the password of the superuser `postgres`.
 */
export async function ensureCluster(
  paths: ClusterPaths,
  binaries: PostgresBinaries,
  runAs: RunAs,
  durable: boolean,
): Promise<string> {
  const dataDir = path.dirname(paths.pgDir);
  await mkdir(dataDir, { recursive: true });
  for (const dir of [paths.socketDir, path.dirname(paths.logFile)]) {
    await mkdir(dir, { recursive: true, mode: 0o700 });
  }
  await handOver(paths.socketDir, runAs);
  const password = await ensurePassword(paths.passwordFile, runAs);
  if (await exists(path.join(paths.pgDir, "PG_VERSION"))) return password;

  const initDir = path.join(dataDir, "pg.init");
  await rm(initDir, { recursive: true, force: true });
  await mkdir(initDir, { mode: 0o700 });
  await handOver(initDir, runAs);
  await initdb(initDir, paths.passwordFile, binaries, runAs, durable);
  await rename(initDir, paths.pgDir);
  await syncDirectory(dataDir);
  return password;
}

async function initdb(
  initDir: string,
  passwordFile: string,
  binaries: PostgresBinaries,
  runAs: RunAs,
  durable: boolean,
): Promise<void> {
  const args = [
    `--pgdata=${initDir}`,
    "--username=postgres",
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    // The same order of text on every machine, whatever locales are installed there.
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
    "--encoding=UTF8",
    "--no-instructions",
    ...(durable ? [] : ["--no-sync"]),
  ];
  const [program = "", ...rest] = [...runAs.prefix, binaries.initdb, ...args];
  try {
    await run(program, rest, { cwd: "/", env: { LC_ALL: "C" }, ...runAs.user });
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new Error(`initdb failed: ${stderr?.trim() || String(error)}`, { cause: error });
  }
}

/** Made once; readable by the owner alone. */
async function ensurePassword(file: string, runAs: RunAs): Promise<string> {
  if (!(await exists(file))) {
    const handle = await open(`${file}.new`, "w", 0o600);
    await handle.writeFile(randomBytes(24).toString("base64url"));
    await handle.sync();
    await handle.close();
    await chmod(`${file}.new`, 0o600);
    await rename(`${file}.new`, file);
  }
  await handOver(file, runAs);
  return (await readFile(file, "utf8")).trim();
}

/** Makes a rename survive a power failure. */
async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, "r");
  await handle.sync();
  await handle.close();
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
