import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";

const run = promisify(execFile);

export type ProcessRow = Readonly<{ pid: number; parent: number; command: string }>;

/** All processes of the machine that are not zombies. */
export async function processes(): Promise<readonly ProcessRow[]> {
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

export async function isRunning(pid: number): Promise<boolean> {
  return (await processes()).some((row) => row.pid === pid);
}

/** Runs a TypeScript file as a program and waits for the first message it sends. */
export async function forkProgram<Message>(
  file: string,
  args: readonly string[],
): Promise<{ child: ChildProcess; message: Message }> {
  const child = fork(file, [...args], { execArgv: ["--import", "tsx"] });
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
