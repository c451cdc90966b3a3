import { execFile } from "node:child_process";
import { chmod, chown, mkdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { isThere } from "../../platform/if-there.ts";
import { syncFile } from "../../platform/sync-file.ts";
import { ensureSecretFile } from "../secret-file.ts";
import type { PostgresBinaries } from "./binaries.ts";
import { handOver, type RunAs } from "./run-as.ts";

const run = promisify(execFile);

const passwordBytes = 24;

/** The paths of a cluster below the data directory. */
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
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  // Another user than ours must get through to its own directories: its group may pass, and nobody else.
  if (runAs.user !== undefined) {
    await chown(dataDir, process.getuid?.() ?? 0, runAs.user.gid);
    await chmod(dataDir, 0o710);
  }
  for (const dir of [paths.socketDir, path.dirname(paths.logFile)]) {
    await mkdir(dir, { recursive: true, mode: 0o700 });
  }
  await handOver(paths.socketDir, runAs);
  const password = await ensureSecretFile(paths.passwordFile, passwordBytes);
  await handOver(paths.passwordFile, runAs);
  if (await isThere(path.join(paths.pgDir, "PG_VERSION"))) return password;

  const initDir = path.join(dataDir, "pg.init");
  await rm(initDir, { recursive: true, force: true });
  await mkdir(initDir, { mode: 0o700 });
  await handOver(initDir, runAs);
  await initdb(initDir, paths.passwordFile, binaries, runAs, durable);
  await rename(initDir, paths.pgDir);
  await syncFile(dataDir);
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
