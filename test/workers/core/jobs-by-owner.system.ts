import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import pino from "pino";

import { openQueues, type Queues } from "../../../src/platform/queue/queue.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { defineWorker, startWorker } from "../../../src/workers/core/worker.ts";
import { eventually } from "../../support/app/eventually.ts";
import { jobsOf, ownedData, ownedQueue, ownerIn } from "../../support/app/owned-job.ts";
import { nodeArgs } from "../../support/compiled.ts";
import { needsRedis, testRedis } from "../../support/store/redis.ts";

describe("jobs of one owner when their worker is killed", () => {
  needsRedis();
  const log = pino({ level: "silent" });
  let redisUrl: string;
  let queues: Queues;
  let killed: ChildProcess | undefined;

  before(async () => {
    redisUrl = String(await testRedis());
    queues = await openQueues({ databaseUrl: "", redisUrl, log });
  });
  after(async () => {
    killed?.kill("SIGKILL");
    await queues?.close();
  });

  it("are all there, those that were put back before those that ran", async () => {
    await queues.add(jobsOf("anna", 20));
    const program = "test/support/process/held-jobs-process.ts";
    killed = spawn(process.execPath, [...nodeArgs(program), redisUrl], { stdio: "inherit" });
    const counts = () => queues.queue(ownedQueue).getJobCounts("active", "delayed");
    await eventually(async () => {
      const { active, delayed } = await counts();
      return active === 2 && delayed === 18;
    });
    killed.kill("SIGKILL");
    await once(killed, "exit");
    expect(await counts()).to.deep.equal({ active: 2, delayed: 18 });

    const done: number[] = [];
    const worker = defineWorker({
      queue: ownedQueue,
      concurrency: 4,
      payload: ownedData,
      run: async ({ n }) => void done.push(n),
    });
    // The worker uses no more of what workers have.
    const working = await startWorker(worker, { queues, log } as unknown as WorkerDeps, ownerIn);
    await eventually(() => done.length >= 18, 15_000);
    expect([...done].sort((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 18 }, (_, n) => n + 2),
    );
    await eventually(() => done.length === 20, 60_000);
    expect(new Set(done).size).to.equal(20);
    await working.close();
  });
});
