import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

import { ConfigError } from "../config.ts";
import type { Running } from "./keep-running.ts";
import { logTail, rotateLog } from "./log-file.ts";
import { claimPidFile, releasePidFile } from "./pid-file.ts";

export type Settings = Readonly<Record<string, string>>;

export type NodeChildOptions = Readonly<{
  /** The script, run by the same Node with the same flags as this process. */
  program: string;
  args: readonly string[];
  environment: Readonly<Record<string, string | undefined>>;
  /**
   * More of the environment, sent as a message once it is known: meanwhile the child loads its modules,
   * which is most of its start. Other processes cannot read it, unlike an environment, so it holds secrets.
   */
  settings: Promise<Settings>;
  /** Gets what the child writes. */
  logFile: string;
  /** By it the next start finds a child that outlived this process. */
  pidFile: string;
  /** Receives why the child waits, when it reports that; however long it waits then, it is starting. */
  onWaiting?: (why: string) => void;
  /** A child that has not ended this long after SIGTERM receives SIGKILL. */
  closeTimeoutMs?: number;
}>;

export type NodeChild<Ready> = Running & Readonly<{ pid: number; ready: Ready }>;

/** Of Node.js: names that do not resolve hold some of them, hashing holds two, and files are read by the others. */
const threadCount = "16";
/** Of glibc: seconds until a server of names is given up, and how many attempts there are. */
const resolverOptions = "timeout:2 attempts:2";
/** Of glibc: with one for each thread, what is freed in one is of no use to the others and stays with the process. */
const arenasMax = "2";
const readyTimeoutMs = 60_000;
/** EX_CONFIG of sysexits.h: the child says what is wrong with its configuration. */
const exitConfig = 78;
const closeTimeoutMsDefault = 7_000;

/**
 * Starts a Node process, sends it `{ settings }` and waits for its `{ ready }`. When this process dies, the channel
 * between the two closes, by which the child knows that it must end.
 *
 * @throws Error with the end of the child's log when it does not get ready, ConfigError when it says that it never
 *   will; why there are no settings.
 */
export async function startNodeChild<Ready>(options: NodeChildOptions): Promise<NodeChild<Ready>> {
  // They may fail before this comes to wait for them.
  options.settings.catch(() => undefined);
  await rotateLog(options.logFile);
  const log = await open(options.logFile, "a", 0o600);
  const logStart = (await log.stat()).size;
  // Detached: a Ctrl-C in the terminal must reach the supervisor alone, which ends the rest in order.
  const child = fork(options.program, [...options.args], {
    detached: true,
    env: {
      MALLOC_ARENA_MAX: arenasMax,
      UV_THREADPOOL_SIZE: threadCount,
      RES_OPTIONS: resolverOptions,
      ...options.environment,
    },
    // For idle-memory.ts.
    execArgv: [...process.execArgv, "--expose-gc"],
    stdio: ["ignore", log.fd, log.fd, "ipc"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  try {
    await once(child, "spawn");
  } finally {
    await log.close();
  }
  // A message that can no longer be delivered: the end of the child is what counts.
  child.on("error", () => undefined);
  const { pid } = child;
  if (pid === undefined) throw new Error(`${options.program} has no pid`);
  await claimPidFile(options.pidFile, pid);

  const close = async (): Promise<void> => {
    await stop(child, exited, options.closeTimeoutMs ?? closeTimeoutMsDefault);
    await releasePidFile(options.pidFile);
  };
  const starting = new AbortController();
  const onWaiting = (why: string): void => {
    starting.abort();
    options.onWaiting?.(why);
  };
  const readying = readiness<Ready>(child, onWaiting);
  try {
    const settings = await Promise.race([options.settings, exited]);
    if (settings !== undefined) child.send({ settings });
  } catch (error) {
    await close();
    throw error;
  }
  const ready = await Promise.race([
    readying,
    exited.then(() => undefined),
    readyTimeout(starting.signal),
  ]);
  if (ready === undefined) {
    await close();
    const why = `${options.args.join(" ")} did not start. ${await logTail(options.logFile, logStart)}`;
    throw child.exitCode === exitConfig ? new ConfigError(why) : new Error(why);
  }
  return { pid, ready, exited, close };
}

/** Never, for a child that has said that it waits. */
async function readyTimeout(waits: AbortSignal): Promise<undefined> {
  try {
    await delay(readyTimeoutMs, undefined, { ref: false, signal: waits });
    return undefined;
  } catch {
    return new Promise<never>(() => undefined);
  }
}

function readiness<Ready>(child: ChildProcess, onWaiting: (why: string) => void): Promise<Ready> {
  return new Promise((resolve) => {
    const hear = (message: unknown): void => {
      if (typeof message !== "object" || message === null) return;
      if ("waiting" in message) onWaiting(String(message.waiting));
      if (!("ready" in message)) return;
      child.off("message", hear);
      resolve(message.ready as Ready);
    };
    child.on("message", hear);
  });
}

async function stop(child: ChildProcess, exited: Promise<void>, timeoutMs: number): Promise<void> {
  const ended = (): boolean => child.exitCode !== null || child.signalCode !== null;
  if (ended()) return;
  child.kill("SIGTERM");
  const limit = new AbortController();
  await Promise.race([
    exited,
    delay(timeoutMs, undefined, { signal: limit.signal }).catch(() => undefined),
  ]);
  limit.abort();
  if (!ended()) child.kill("SIGKILL");
  await exited;
}
