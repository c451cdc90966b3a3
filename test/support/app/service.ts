import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "../process/free-port.ts";
import { isRunning, processes } from "../process/process.ts";
import { eventually } from "./eventually.ts";

export const program = path.resolve("bin/ledgerforge.js");
let built = false;

/** What users run; compiled, it starts in a fraction of the time. Does nothing when up to date. */
export function build(): void {
  if (!built) execFileSync(process.execPath, [path.resolve("bin/build.js")], { stdio: "inherit" });
  built = true;
}

/** On a machine that does other things as well. */
const readyMs = 60_000;
/** Characters of a log shown when it does not get ready. */
const logEndLength = 1_500;

/** What the process says of itself, apart from how it is ended. */
export type Program = Readonly<{
  child: ChildProcess;
  output: () => string;
  /** Exit code and the signal it died by. */
  exited: Promise<readonly [code: number | null, signal: string | null]>;
}>;

/** Runs `ledgerforge` with nothing of this process's configuration. */
export function runProgram(args: readonly string[], environment: Record<string, string>): Program {
  build();
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [program, ...args], {
    // Several of them run beside each other, and beside whatever has the usual port.
    env: { PATH, HOME, SSH_PORT: "0", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const exited = once(child, "close") as Promise<[number | null, string | null]>;
  return { child, output: () => output, exited };
}

export type Service = Program &
  Readonly<{
    url: string;
    dataDir: string;
    /** Of the processes it is made of: `supervisor`, `postgres`, `event-store`, `http`, … */
    pidOf: (name: string) => Promise<number>;
    stop: (signal?: NodeJS.Signals) => Promise<number | null>;
  }>;

/** The whole service as `npm start` runs it, ready to answer. */
export async function startService(
  dataDir: string,
  environment: Record<string, string> = {},
): Promise<Service> {
  const port = environment["PORT"] ?? String(await freePort());
  // Where root has no user namespaces PostgreSQL runs as another user, who must get there.
  const parent = path.dirname(dataDir);
  if (process.getuid?.() === 0 && parent !== tmpdir()) await chmod(parent, 0o711);
  const running = runProgram(["start"], { DATA_DIR: dataDir, ...environment, PORT: port });
  const url = `http://127.0.0.1:${port}`;
  const ended = running.exited.then(([code]) => {
    throw new Error(`The service ended with ${code} while starting:\n${running.output()}`);
  });
  const greeted = eventually(() => running.output().includes("A first push:"), readyMs);
  const explained = greeted.catch(async () => {
    const state = await stateOf(url, dataDir);
    running.child.kill("SIGINT");
    throw new Error(`Not ready in ${readyMs} ms: ${state}\n${running.output()}`);
  });
  ended.catch(() => undefined);
  explained.catch(() => undefined);
  await Promise.race([explained, ended]);
  return {
    ...running,
    url,
    dataDir,
    pidOf: (name) => pidOf(dataDir, running.child, name),
    stop: async (signal = "SIGINT") => {
      if (running.child.exitCode === null) running.child.kill(signal);
      return (await running.exited)[0];
    },
  };
}

/** What a service waits for, and the ends of its logs. */
async function stateOf(url: string, dataDir: string): Promise<string> {
  const signal = AbortSignal.timeout(5_000);
  const answer = await fetch(`${url}/health/ready`, { signal }).then((got) => got.text(), String);
  const logs = path.join(dataDir, "log");
  const ends = (await readdir(logs).catch(() => [])).map(async (name) => {
    const text = await readFile(path.join(logs, name), "utf8");
    return `${name}:\n${text.slice(-logEndLength)}`;
  });
  return [answer, ...(await Promise.all(ends))].join("\n");
}

async function pidOf(dataDir: string, child: ChildProcess, name: string): Promise<number> {
  if (name === "supervisor") return child.pid!;
  const file = name === "postgres" ? "pg18/postmaster.pid" : `run/${name}.pid`;
  const pid = Number.parseInt(await readFile(path.join(dataDir, file), "utf8"), 10);
  if (!(await isRunning(pid))) throw new Error(`${name} does not run`);
  return pid;
}

/** Processes that run on the data directory, started by any process. */
export async function processesOn(dataDir: string): Promise<readonly string[]> {
  const files = ["event-store", "http", "projections", "workers", "ssh"].map((name) =>
    readFile(path.join(dataDir, "run", `${name}.pid`), "utf8").catch(() => ""),
  );
  const pids = new Set((await Promise.all(files)).map((text) => Number.parseInt(text, 10)));
  return (await processes())
    .filter(({ pid, command }) => pids.has(pid) || command.includes(`${dataDir}/`))
    .map(({ command }) => command);
}
