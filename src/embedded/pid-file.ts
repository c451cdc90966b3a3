import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";

import { ifThere } from "../platform/if-there.ts";
import { signal, until } from "./process.ts";

const run = promisify(execFile);

/** A living process holds the file. */
export class PidFileHeld extends Error {
  override readonly name = "PidFileHeld";

  constructor(readonly pid: number) {
    super(`held by process ${pid}`);
  }
}

/**
 * Writes down that a process holds what the file represents.
 *
 * @throws PidFileHeld while the process that wrote it before lives, or another takes over from it.
 */
export async function claimPidFile(file: string, pid: number): Promise<void> {
  const draft = `${file}.${pid}`;
  await writeFile(draft, `${pid} ${await birthOf(pid)}\n`, { mode: 0o600 });
  try {
    // Unlike a write, a link fails when there is a file already.
    while (!(await linked(draft, file))) {
      const text = await textOf(file);
      if (text === undefined) continue;
      const holder = await writerOf(text);
      if (holder === pid) return;
      if (holder !== undefined) throw new PidFileHeld(holder);
      if (await replaceStale(file, text, draft, pid)) return;
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Removing a stale file and then linking leaves a moment in which two can win. So a stale text is only
 * ever replaced in one step, by the process that holds the right to replace that very text.
 */
async function replaceStale(
  file: string,
  text: string,
  draft: string,
  pid: number,
): Promise<boolean> {
  const right = `${file}.${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
  await claimPidFile(right, pid);
  try {
    if ((await textOf(file)) !== text) return false;
    await rename(draft, file);
    return true;
  } finally {
    await releasePidFile(right);
  }
}

export function releasePidFile(file: string): Promise<void> {
  return rm(file, { force: true });
}

/** The living process that wrote the file; undefined when it is gone. */
export async function holderOf(file: string): Promise<number | undefined> {
  return writerOf(await readFile(file, "utf8").catch(() => ""));
}

async function writerOf(text: string): Promise<number | undefined> {
  const [, pid, birth] = /^(\d+) (.+)\n$/.exec(text) ?? [];
  if (pid === undefined || birth === undefined) return undefined;
  return (await birthOf(Number(pid))) === birth ? Number(pid) : undefined;
}

/**
 * Ends the process an earlier run left behind and waits for its end: kindly first, by force after
 * the limit.
 */
export async function stopHolder(file: string, timeoutMs: number): Promise<void> {
  const gone = async (): Promise<boolean> => (await holderOf(file)) === undefined;
  for (const how of ["SIGTERM", "SIGKILL"] as const) {
    const pid = await holderOf(file);
    if (pid === undefined) break;
    signal(pid, how);
    await until(gone, timeoutMs);
  }
  await rm(file, { force: true });
}

/**
 * When a process began, in whatever form: pids are used again, the pair is not. Undefined for one that
 * ended, also when nobody has taken notice of that yet.
 */
async function birthOf(pid: number): Promise<string | undefined> {
  try {
    if (process.platform !== "linux") {
      const { stdout } = await run("ps", ["-o", "lstart=", "-p", String(pid)]);
      return stdout.trim() || undefined;
    }
    // proc(5): the name in brackets may hold anything, state is field 3, starttime field 22.
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return undefined;
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    return `${boot.trim()}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

const textOf = (file: string): Promise<string | undefined> => ifThere(readFile(file, "utf8"));

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
