import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { commit, git, workingCopy } from "../test/support/git/git.ts";
import { addPipelineFile, agentOf, type BenchAgent, startPipeline } from "./agents.ts";
import { figure, median, timed } from "./figure.ts";
import { type BenchService, withService } from "./service.ts";
import { serviceMs, settled } from "./settled.ts";

/**
 * What agents wait for: milliseconds from the end of a push to the confirmed job, with one agent that polls
 * and with 100; what the service at rest takes of a core with 100 agents that poll for nothing, against none; and MiB a
 * second from the trace of a job to a reader of its stream, against a bare server that passes bytes on.
 *
 * node --import tsx bench/agent.ts [pushes] [MiB of log]
 */
const pushes = Number(process.argv[2] ?? 20);
const logMebibytes = Number(process.argv[3] ?? 64);
const agentsMany = 100;
const idleSeconds = 20;
const pieceBytes = 1024 ** 2;
const piece = Buffer.from("a line of a log that somebody reads\n".repeat(40_000)).subarray(
  0,
  pieceBytes,
);

await withService(async (bench) => {
  const one = await pushToRunning(bench, "one", 1);
  const alone = await idleShare(bench);
  const many = await pushToRunning(bench, "many", agentsMany, async () => {
    const baseline = { name: "without agents", value: alone };
    figure(`at rest, ${agentsMany} agents poll`, "% of a core", await idleShare(bench), baseline);
  });
  const baseline = { name: "with one agent", value: one };
  figure(`push to running, ${agentsMany} agents, p50`, "ms", many, baseline);
  const bare = { name: "bare node:http", value: await bareRate() };
  figure("log, trace to stream", "MiB/s", await logRate(bench), bare);
});

/** What the service takes of a core while nothing happens. */
async function idleShare({ service }: BenchService): Promise<number> {
  await settled(service);
  const before = await serviceMs(service);
  await delay(idleSeconds * 1_000);
  return ((await serviceMs(service)) - before) / (idleSeconds * 10);
}

/** Milliseconds from the exit of `git push` until the service has confirmed that an agent runs the job. */
async function pushToRunning(
  bench: BenchService,
  name: string,
  agents: number,
  whileIdle: () => Promise<void> = async () => undefined,
): Promise<number> {
  const remote = await bench.project(name);
  const copy = await workingCopy(bench.directory, name);
  await commit(copy, "First", { ".forge-ci.yaml": "build: {script: make}\n" });
  await git(copy, "push", "--quiet", "-o", "ci.skip", remote, "HEAD:refs/heads/main");
  const all = await Promise.all(Array.from({ length: agents }, () => agentOf(bench, name)));
  const over = new AbortController();
  let confirmed: (at: number) => void = () => undefined;
  const running = all.map(async (agent) => {
    while (!over.signal.aborted) {
      const job = await agent.poll(over.signal).catch(() => undefined);
      if (job === undefined) continue;
      await agent.put(job, "running");
      confirmed(performance.now());
      await agent.put(job, "success");
    }
  });
  await delay(1_000);
  await whileIdle();
  const times: number[] = [];
  for (let n = 0; n < pushes; n += 1) {
    await commit(copy, `Change ${n}`, { "a.txt": String(n) });
    const isRunning = new Promise<number>((resolve) => {
      confirmed = resolve;
    });
    await git(copy, "push", "--quiet", remote, "HEAD:refs/heads/main");
    const acknowledgedAt = performance.now();
    times.push(Math.max(0, (await isRunning) - acknowledgedAt));
    await settled(bench.service);
  }
  over.abort();
  await Promise.all(running);
  process.stdout.write(
    `push to running, ${agents} agents: ${times.map(Math.round).join(" ")} ms\n`,
  );
  return median(times);
}

async function logRate(bench: BenchService): Promise<number> {
  await bench.project("log");
  await addPipelineFile(bench, "log", "build: {script: make}\n");
  const agent = await agentOf(bench, "log");
  const { localId } = await startPipeline(bench, "log");
  const job = await taken(agent);
  const base = `${bench.service.url}/project/bench/log/cicd`;
  const { authorization } = bench;
  const list = await fetch(`${base}/pipeline/${localId}/jobs`, { headers: { authorization } });
  const { _embedded: page } = (await list.json()) as {
    _embedded: { restPipelineJobModelList: { localId: number }[] };
  };
  const at = `${base}/job/${page.restPipelineJobModelList[0]?.localId}/log/stream`;
  const stream = await fetch(at, { headers: { authorization } });
  const took = await timed(async () => {
    const reading = readToEnd(stream);
    for (let n = 0; n < logMebibytes; n += 1) await agent.patch(job, n * pieceBytes, piece);
    await agent.put(job, "success", logMebibytes * pieceBytes);
    await reading;
  });
  return logMebibytes / (took / 1_000);
}

async function taken(agent: BenchAgent) {
  const job = await agent.poll();
  if (job === undefined) throw new Error("no job");
  await agent.put(job, "running");
  return job;
}

async function readToEnd(stream: Response): Promise<void> {
  let bytes = 0;
  for await (const part of stream.body ?? []) bytes += part.length;
  if (bytes < logMebibytes * pieceBytes) throw new Error(`only ${bytes} bytes were read`);
}

/** The same pieces to a server that does nothing but pass them on to a reader. */
async function bareRate(): Promise<number> {
  let toReader: NodeJS.WritableStream | undefined;
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      response.writeHead(200).flushHeaders();
      toReader = response;
      return;
    }
    request.on("data", (data) => toReader?.write(data));
    request.on("end", () => response.end());
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stream = await fetch(url);
  const took = await timed(async () => {
    const reading = readToEnd(stream);
    for (let n = 0; n < logMebibytes; n += 1) {
      await (await fetch(url, { method: "PATCH", body: piece })).text();
    }
    toReader?.end();
    await reading;
  });
  server.close();
  return logMebibytes / (took / 1_000);
}
