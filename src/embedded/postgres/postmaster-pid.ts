import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { isOurs, signal, until } from "../process.ts";

/** Line 1 is the pid, line 8 the state (`src/include/utils/pidfile.h` of PostgreSQL). */
export type PostmasterPid = Readonly<{ pid: number; ready: boolean }>;

export async function readPostmasterPid(pgDir: string): Promise<PostmasterPid | undefined> {
  const text = await readFile(file(pgDir), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const lines = text.split("\n");
  return { pid: Number(lines[0]), ready: lines[7]?.trim() === "ready" };
}

/** A fast shutdown ends within this unless the disk is very slow; then the next signal follows. */
const stopTimeoutMs = 20_000;

/**
 * Clears what an earlier run left in the data directory: a server still running is shut down; a pid
 * that belongs to another process by now is made harmless. PostgreSQL alone would refuse to start for ever.
 *
 * @throws Error when the old server does not end.
 */
export async function clearEarlierRun(pgDir: string, socketDir: string): Promise<void> {
  const left = await readPostmasterPid(pgDir);
  if (left === undefined) return;
  if (await isOurs(left.pid, pgDir)) {
    await stopServer(left.pid, async () => !(await isOurs(left.pid, pgDir)));
  }
  await disownPid(pgDir);
  await rm(path.join(socketDir, ".s.PGSQL.5432.lock"), { force: true });
}

/**
 * SIGINT ends sessions and writes a checkpoint; SIGQUIT ends at once and leaves recovery to the next
 * start. Never SIGKILL: it would leave the other processes of the server behind.
 */
export async function stopServer(pid: number, gone: () => Promise<boolean>): Promise<void> {
  signal(pid, "SIGINT");
  if (await until(gone, stopTimeoutMs)) return;
  signal(pid, "SIGQUIT");
  if (await until(gone, stopTimeoutMs)) return;
  throw new Error(`The PostgreSQL server with pid ${pid} does not end`);
}

/** Above every limit of pids on the systems we run on, so no process can ever have it. */
const nobodysPid = 2 ** 31 - 1;

/**
 * Takes the pid out of a left lock file but keeps the rest: by its line 7 PostgreSQL finds out whether
 * sessions of the dead server still write to the directory, and refuses until they are gone.
 */
async function disownPid(pgDir: string): Promise<void> {
  const text = await readFile(file(pgDir), "utf8").catch(() => undefined);
  if (text === undefined) return;
  await writeFile(file(pgDir), text.replace(/^.*$/m, String(nobodysPid)));
}

function file(pgDir: string): string {
  return path.join(pgDir, "postmaster.pid");
}
