import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

import { compiledFile } from "../compiled.ts";

const run = promisify(execFile);

export type ProcessRow = Readonly<{ pid: number; parent: number; command: string }>;

/** All processes of the machine that are not zombies. */
export async function processes(): Promise<readonly ProcessRow[]> {
  if (process.platform === "linux") {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    // A process may end while it is read.
    const rows = await Promise.all(pids.map((pid) => processRow(pid).catch(() => undefined)));
    return rows.filter((row) => row !== undefined);
  }
  const { stdout } = await run("ps", ["-A", "-ww", "-o", "pid=,ppid=,stat=,command="]);
  return stdout
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .filter((match) => match !== null && !match[3]?.startsWith("Z"))
    .map((match) => ({
      pid: Number(match?.[1]),
      parent: Number(match?.[2]),
      command: match?.[4] ?? "",
    }));
}

/** From /proc, as proc(5) describes it: ps(1) is missing on small machines. */
async function processRow(pid: string): Promise<ProcessRow | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The name in parentheses may hold spaces and parentheses itself.
  const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (state === "Z") return undefined;
  const line = await readFile(`/proc/${pid}/cmdline`, "utf8");
  const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
  const command = line === "" ? `[${name}]` : line.split("\0").join(" ").trim();
  return { pid: Number(pid), parent: Number(parent), command };
}

export async function isRunning(pid: number): Promise<boolean> {
  return (await processes()).some((row) => row.pid === pid);
}

/** Runs a TypeScript file as a program and waits for the first message it sends. */
export async function forkProgram<Message>(
  file: string,
  args: readonly string[],
): Promise<{ child: ChildProcess; message: Message }> {
  const child = fork(compiledFile(file), [...args], { execArgv: ["--enable-source-maps"] });
  const [message] = (await once(child, "message")) as [Message];
  return { child, message };
}

/** Kills without a chance to clean up, and waits until it is gone. */
export async function killHard(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
