import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const pollMs = 20;

/**
 * The command line of a running process, arguments joined by spaces; undefined when there is no such
 * process or only its zombie is left (a container without an init process never reaps orphans).
 */
async function commandLine(pid: number): Promise<string | undefined> {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  try {
    if (process.platform === "linux") {
      const text = await readFile(`/proc/${pid}/cmdline`, "utf8");
      return text === "" ? undefined : text.split("\0").join(" ").trim();
    }
    const { stdout } = await run("ps", ["-o", "command=", "-p", String(pid)]);
    return stdout.trim() === "" ? undefined : stdout.trim();
  } catch {
    return undefined;
  }
}

/** Pids are used again after a reboot, so a pid read from a file is ours only if it also looks so. */
export async function isOurs(pid: number, mark: string): Promise<boolean> {
  const line = await commandLine(pid);
  return line !== undefined && ` ${line} `.includes(` ${mark} `);
}

/** Signals a process that may have gone already. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** True once the condition holds, false when it still does not after the limit. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) return false;
    await delay(pollMs);
  }
  return true;
}
