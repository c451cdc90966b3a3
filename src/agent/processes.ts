import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

/** Every process of a job has this variable, also those that left its process group. */
export const runMark = "LEDGERFORGE_AGENT_RUN";

export type Command = Readonly<{
  program: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** The program is bubblewrap with `--info-fd 3`: its script is in another process group than its own. */
  hasInfo?: true;
  /** Sends SIGTERM to the processes of the script where they are not in the group of the program. */
  terminate?: () => Promise<unknown>;
}>;

export type Ended = Readonly<{ code: number | null; signal: NodeJS.Signals | null }>;

type Options = Readonly<{
  onOutput: (data: Buffer) => void;
  /** Receives what is written to standard error; by default `onOutput` does. */
  onError?: (data: Buffer) => void;
  /** When it aborts, the script may clean up, for 30 s; then all its processes are killed. */
  signal: AbortSignal;
  /** Reduces that time to two seconds. */
  over?: AbortSignal;
}>;

const graceMs = 30_000;
const graceMsWhenOver = 2_000;
const drainMs = 2_000;

/**
 * Runs a program in a process group of its own until it ends, and leaves none of its processes.
 *
 * @throws Error when it cannot be started
 */
export async function runToEnd(command: Command, options: Options): Promise<Ended> {
  const { program, args, cwd, env, terminate } = command;
  const { onOutput, signal, over } = options;
  const child = spawn(program, [...args], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe", ...(command.hasInfo ? ["pipe" as const] : [])],
    detached: true,
  });
  // Pipes, as `stdio` says.
  const [, stdout, stderr, info] = child.stdio as unknown as readonly Readable[];
  stdout?.on("data", onOutput);
  stderr?.on("data", options.onError ?? onOutput);
  const closed = once(child, "close").catch(() => undefined);
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  const { pid } = child;
  const inner = info === undefined ? undefined : firstOf(info);
  const mark = env[runMark];
  let ending: Promise<void> | undefined;
  const onAbort = (): void => {
    if (pid !== undefined) ending ??= endGroup(pid, { inner, exited, over, terminate });
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
    await killSandbox(await inner);
    // A process that could not be found may hold the pipes open.
    await Promise.race([closed, delay(drainMs, undefined, { ref: false })]);
    for (const each of [stdout, stderr, info]) each?.destroy();
  }
}

const Info = z.object({ "child-pid": z.int().positive() });

type First = Readonly<{ pid: number; beganAt: Promise<string | undefined> }>;

/**
 * The first process of a sandbox. It is in the group of the script, and ignores the signal to that: one to
 * bubblewrap would end bubblewrap alone, with which the kernel kills the script.
 */
async function firstOf(info: Readable): Promise<First | undefined> {
  try {
    const { "child-pid": pid } = Info.parse(JSON.parse(await text(info)));
    return { pid, beganAt: beginningOf(pid) };
  } catch {
    // It ended before it had made the sandbox.
    return undefined;
  }
}

/** Distinguishes a process from a later one with its number; undefined once it has ended. */
async function beginningOf(pid: number): Promise<string | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  // The name of the program stands before, in brackets, and may hold some itself.
  const [state, ...fields] = status.slice(status.lastIndexOf(")") + 2).split(" ");
  return state === "Z" || state === "X" ? undefined : fields[beganAtField];
}

const beganAtField = 18;

/**
 * Bubblewrap ends with the script, and the kernel kills what else runs in the sandbox after that. Its first process
 * is the last one to go.
 */
async function killSandbox(first: First | undefined): Promise<void> {
  const beganAt = await first?.beganAt;
  if (first === undefined || beganAt === undefined) return;
  while ((await beginningOf(first.pid)) === beganAt) {
    kill(first.pid);
    await delay(pauseMs);
  }
}

type Ending = Readonly<{
  inner: Promise<First | undefined> | undefined;
  exited: Promise<unknown>;
  over: AbortSignal | undefined;
  terminate: Command["terminate"];
}>;

async function endGroup(pid: number, { inner, exited, over, terminate }: Ending): Promise<void> {
  const ended = new AbortController();
  const onExit = (): void => ended.abort();
  exited.then(onExit, onExit);
  const pause = (ms: number, ...more: readonly AbortSignal[]): Promise<void> =>
    delay(ms, undefined, { signal: AbortSignal.any([ended.signal, ...more]) }).catch(
      () => undefined,
    );
  const first = await Promise.race([inner, pause(graceMsWhenOver).then(() => undefined)]);
  if (!ended.signal.aborted && terminate === undefined) killGroup(first?.pid ?? pid, "SIGTERM");
  else if (!ended.signal.aborted) await Promise.race([terminate?.(), pause(graceMsWhenOver)]);
  await pause(graceMs, ...(over === undefined ? [] : [over]));
  if (over?.aborted === true) await pause(graceMsWhenOver);
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
    for (const pid of pids) kill(pid);
    await delay(pauseMs);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has gone by itself.
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
