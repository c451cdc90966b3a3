import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** Every process of a job has this variable, also those that left its process group. */
export const runMark = "LEDGERFORGE_AGENT_RUN";

export type Command = Readonly<{
  program: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
}>;

export type Ended = Readonly<{ code: number | null; signal: NodeJS.Signals | null }>;

type Options = Readonly<{
  onOutput: (data: Buffer) => void;
  /** The whole process group is killed when it aborts. */
  signal: AbortSignal;
}>;

const graceMs = 2_000;
const drainMs = 2_000;

/**
 * Runs a program in a process group of its own until it ends, and leaves none of its processes.
 *
 * @throws Error when it cannot be started
 */
export async function runToEnd(command: Command, { onOutput, signal }: Options): Promise<Ended> {
  const { program, args, cwd, env } = command;
  const child = spawn(program, [...args], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  child.stdout.on("data", onOutput);
  child.stderr.on("data", onOutput);
  const closed = once(child, "close").catch(() => undefined);
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  const { pid } = child;
  const mark = env[runMark];
  let ending: Promise<void> | undefined;
  const onAbort = (): void => {
    if (pid !== undefined) ending = endGroup(pid, exited);
  };
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  try {
    const [code, by] = await exited;
    return { code, signal: by };
  } finally {
    signal.removeEventListener("abort", onAbort);
    await ending;
    if (pid !== undefined) killGroup(pid, "SIGKILL");
    if (mark !== undefined) await killMarked(mark);
    // A process that could not be found may hold the pipes open.
    await Promise.race([closed, delay(drainMs, undefined, { ref: false })]);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

async function endGroup(pid: number, exited: Promise<unknown>): Promise<void> {
  killGroup(pid, "SIGTERM");
  const over = new AbortController();
  const grace = delay(graceMs, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([exited.catch(() => undefined), grace]);
  over.abort();
  killGroup(pid, "SIGKILL");
}

function killGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch (error) {
    // EPERM: what is left of the group are zombies of another user namespace.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}

const roundsMax = 20;
const pauseMs = 10;

/** Kills processes whose environment carries the mark, until there are none. On Linux only. */
export async function killMarked(mark: string): Promise<void> {
  for (let round = 0; round < roundsMax; round += 1) {
    const pids = await markedProcesses(mark);
    if (pids.length === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has gone by itself.
      }
    }
    await delay(pauseMs);
  }
}

/** @param mark the value, or its beginning */
export async function markedProcesses(mark: string): Promise<readonly number[]> {
  if (process.platform !== "linux") return [];
  const wanted = `${runMark}=${mark}`;
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
      const isMarked = environment.split("\0").some((entry) => entry.startsWith(wanted));
      return isMarked && pid !== process.pid ? [pid] : [];
    }),
  );
  return found.flat();
}
