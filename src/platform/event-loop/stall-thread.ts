import { readFileSync, statSync, write } from "node:fs";
import { parentPort } from "node:worker_threads";

import { noteKill, readKills } from "./kill-file.ts";
import { OperationMemory, type Running } from "./operation-memory.ts";
import { StillTime } from "./still-time.ts";

/** What the thread receives before all else. */
export type WatchOrder = Readonly<{
  shared: SharedArrayBuffer;
  /** A loop that stands still for so long is killed with its process. */
  stillMaxMs: number;
  tickMs: number;
  role: string;
  file: string;
  /** Whether a line of the log is written. */
  logs: boolean;
}>;

const standardOutput = 1;
/** A reader of the log that has stopped reading may be what stopped the loop. */
const logTimeoutMs = 500;

parentPort?.once("message", watch);

function watch({ shared, stillMaxMs, tickMs, role, file, logs }: WatchOrder): void {
  const memory = new OperationMemory(shared);
  const still = new StillTime(tickMs);
  const postChanges = changesOf(file);
  setInterval(() => {
    postChanges();
    const { beats, mayPause } = memory;
    if (mayPause) return still.restart();
    const stillMs = still.tick({ at: performance.now(), beats, waitedMs });
    if (stillMs < stillMaxMs) return;
    const { running, last } = memory.read();
    noteQuietly(file, role, running);
    still.restart();
    const line = logs ? logLine({ role, stillMs, running, last }) : "";
    const kill = (): void => void process.kill(process.pid, "SIGKILL");
    write(standardOutput, line, kill);
    setTimeout(kill, logTimeoutMs);
  }, tickMs);
}

/** The kill matters more than its record: a full disk does not keep a process that answers nobody. */
function noteQuietly(file: string, role: string, running: Running | undefined): void {
  try {
    noteKill(file, { at: Date.now(), role, running });
  } catch {
    // The line of the log holds the same.
  }
}

/** Reports to the process what it and others noted, so that no request waits for the file. */
function changesOf(file: string): () => void {
  let seen = 0;
  return () => {
    const changed = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (changed === seen) return;
    seen = changed;
    parentPort?.postMessage(readKills(file, Date.now()));
  };
}

/** For how long the thread of the loop was ready and had no processor, in all; Linux alone reports it. */
function waitedMs(): number {
  try {
    const text = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8");
    const [, nanoseconds = 0] = text.split(" ").map(Number);
    return nanoseconds / 1e6;
  } catch {
    return 0;
  }
}

type Stall = Readonly<{
  role: string;
  stillMs: number;
  running: Running | undefined;
  last: Running | undefined;
}>;

/** As platform/log.ts writes them: the logger belongs to the thread that stands still. */
function logLine({ role, stillMs, running, last }: Stall): string {
  const line = {
    level: "fatal",
    time: new Date().toISOString(),
    role,
    pid: process.pid,
    operation: running?.name ?? null,
    caller: running?.caller ?? null,
    // Of code that belongs to no operation the one before may be the cause.
    ...(running === undefined && last !== undefined && { operationBefore: last }),
    stillMs: Math.round(stillMs),
    msg: "the event loop stood still, the process is killed",
  };
  return `${JSON.stringify(line)}\n`;
}
