import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Service, startService } from "../test/support/app/service.ts";
import { freePort } from "../test/support/process/free-port.ts";
import { processes } from "../test/support/process/process.ts";

/**
 * From `ledgerforge start` to being ready (all read models included), the first time and later, with
 * the processor time and the memory of every process, against a bare Node HTTP server that answers
 * one request; the memory once more at rest, a minute later. Memory is proportional (PSS): shared pages are shared
 * out; Linux only.
 */
const laterStarts = 5;
const ticksPerSecond = 100;
const names = ["supervisor", "postgres", "event-store", "http", "ssh", "projections", "workers"];
/** A process gives back what it does not need when it has been idle for three looks; src/embedded/idle-memory.ts. */
const restMs = 80_000;

const root = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
const dataDir = path.join(root, "data");
try {
  const bare = await best(laterStarts, bareServer);
  const first = await timed(() => startService(dataDir));
  await first.result.stop();
  print("first start", first.ms, bare);

  const later: number[] = [];
  let service: Service | undefined;
  for (let round = 0; round < laterStarts; round += 1) {
    await service?.stop();
    const start = await timed(() => startService(dataDir));
    later.push(start.ms);
    service = start.result;
  }
  print("later starts, best", Math.min(...later), bare);
  print("later starts, worst", Math.max(...later), bare);
  if (service !== undefined) {
    await printProcesses(service);
    await delay(restMs);
    process.stdout.write("at rest\n");
    await printProcesses(service);
  }
  const stopped = await timed(async () => service?.stop());
  print("stop", stopped.ms, bare);
} finally {
  await rm(root, { recursive: true, force: true });
}

function print(what: string, ms: number, bare: number): void {
  const ratio = (ms / bare).toFixed(1);
  process.stdout.write(
    `${what}: ${Math.round(ms)} ms; bare node:http: ${Math.round(bare)} ms; ratio ${ratio}\n`,
  );
}

async function timed<Result>(act: () => Promise<Result>): Promise<{ result: Result; ms: number }> {
  const startedAt = performance.now();
  const result = await act();
  return { result, ms: performance.now() - startedAt };
}

async function best(rounds: number, act: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) times.push((await timed(act)).ms);
  return Math.min(...times);
}

async function bareServer(): Promise<void> {
  const port = await freePort();
  const code = `require("node:http").createServer((_, a) => a.end("ok"))
    .listen(${port}, "127.0.0.1", () => console.log("ready"))`;
  const child = spawn(process.execPath, ["--eval", code], { stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  await (await fetch(`http://127.0.0.1:${port}`)).text();
  child.kill();
  await once(child, "exit");
}

/** PostgreSQL counts with all its processes. */
async function printProcesses(service: Service): Promise<void> {
  const all = await processes();
  let [seconds, bytes] = [0, 0];
  for (const name of names) {
    const pid = await service.pidOf(name);
    const family = name === "postgres" ? all.filter((row) => row.parent === pid) : [];
    const used = await Promise.all([pid, ...family.map((row) => row.pid)].map(usage));
    const own = {
      seconds: sum(used.map((use) => use.seconds)),
      bytes: sum(used.map((use) => use.bytes)),
    };
    seconds += own.seconds;
    bytes += own.bytes;
    printUsage(name, own);
  }
  printUsage("together", { seconds, bytes });
}

type Usage = Readonly<{ seconds: number; bytes: number }>;

function printUsage(name: string, { seconds, bytes }: Usage): void {
  const megabytes = Math.round(bytes / 1024 ** 2);
  process.stdout.write(`  ${name}: ${seconds.toFixed(2)} s of processor, ${megabytes} MiB\n`);
}

async function usage(pid: number): Promise<Usage> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const memory = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  const [, kilobytes = "0"] = /^Pss:\s+(\d+) kB$/m.exec(memory) ?? [];
  return {
    seconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
    bytes: Number(kilobytes) * 1024,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
