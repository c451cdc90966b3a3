import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { freePort } from "../../embedded/busy-port.ts";
import { packageRoot } from "../../platform/installation.ts";
import { timeoutSignal } from "../../platform/time/timeout-signal.ts";

const readyWithinMs = 60_000;
const stopsWithinMs = 15_000;

/** The program a person would call as `ledgerforge`. */
export const program = path.join(packageRoot, "bin", "ledgerforge.js");

export type Service = Readonly<{
  url: string;
  /** The environment it runs with, for further commands of the program. */
  environment: Readonly<Record<string, string>>;
  startedInMs: number;
  /** Ctrl-C. Gives the exit code. */
  stop: () => Promise<number | null>;
}>;

/** Starts the whole service as `npm start` does, in a folder of its own. */
export async function startService(
  folder: string,
  settings: Readonly<Record<string, string>>,
  inherited: Readonly<Record<string, string | undefined>>,
): Promise<Service> {
  const port = await freePort();
  const ours = { DATA_DIR: path.join(folder, "data"), PORT: String(port), SSH_PORT: "0" };
  const environment = { ...settings, ...ours };
  const url = `http://127.0.0.1:${port}`;
  const startedAt = performance.now();
  const child = spawn(process.execPath, [program, "start"], {
    cwd: folder,
    env: { ...inherited, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => output.push(chunk));
  await ready(child, url, () => Buffer.concat(output).toString("utf8").slice(-2000));
  return {
    url,
    environment,
    startedInMs: Math.round(performance.now() - startedAt),
    stop: () => stop(child),
  };
}

async function ready(child: ChildProcess, url: string, tail: () => string): Promise<void> {
  const deadline = performance.now() + readyWithinMs;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`The service ended while starting:\n${tail()}`);
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok === true) return;
    await delay(50);
  }
  child.kill("SIGINT");
  throw new Error(`The service was not ready within ${readyWithinMs} ms:\n${tail()}`);
}

async function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  const exited = once(child, "exit", { signal: timeoutSignal(stopsWithinMs) });
  child.kill("SIGINT");
  await exited;
  return child.exitCode;
}
