import { expect } from "chai";
import pino from "pino";

import { openQueues, type Queues, type RunningWorker } from "../../../src/platform/queue/queue.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { defineWorker, startWorker } from "../../../src/workers/core/worker.ts";
import { eventually } from "../../support/app/eventually.ts";
import { jobsOf, ownedData, ownedQueue, ownerIn } from "../../support/app/owned-job.ts";
import { testDatabase } from "../../support/store/database.ts";
import { needsRedis, testRedis } from "../../support/store/redis.ts";

for (const backend of ["PostgreSQL", "Redis"]) {
  describe(`a worker on ${backend} whose jobs have owners`, () => {
    if (backend === "Redis") needsRedis();
    const log = pino({ level: "silent" });
    /** Names of the jobs that run, with what ends them. */
    const running = new Map<string, () => void>();
    const begun: string[] = [];
    let queues: Queues;
    let working: RunningWorker;

    before(async () => {
      const { url: databaseUrl } = await testDatabase();
      const redisUrl = backend === "Redis" ? await testRedis() : undefined;
      queues = await openQueues({ databaseUrl, redisUrl, log });
      const worker = defineWorker({
        queue: ownedQueue,
        concurrency: 4,
        payload: ownedData,
        async run({ owner, n }) {
          const name = `${owner}-${n}`;
          begun.push(name);
          await new Promise<void>((end) => running.set(name, end));
          running.delete(name);
        },
      });
      // The worker uses no more of what workers have.
      working = await startWorker(worker, { queues, log } as unknown as WorkerDeps, ownerIn);
    });
    after(async () => {
      for (const end of running.values()) end();
      await working?.close();
      await queues?.close();
    });

    const inQueue = () => queues.queue(ownedQueue);
    const runs = (name: string) => eventually(() => running.has(name), 2_000);

    it("begins a job within a second beside twenty slow ones of another owner", async () => {
      await queues.add(jobsOf("anna", 20));
      await eventually(async () => (await inQueue().getDelayedCount()) === 18);
      const addedAt = performance.now();
      await queues.add(jobsOf("bob", 1));
      await runs("bob-0");
      expect(performance.now() - addedAt).to.be.below(1_000);
      expect([...running.keys()]).to.have.members(["anna-0", "anna-1", "bob-0"]);
    });

    it("begins the next job of an owner when one ends, in their order, and loses none", async () => {
      running.get("anna-1")?.();
      await runs("anna-2");
      expect(running.has("anna-3")).to.equal(false);
      const end = async () => {
        for (const free of running.values()) free();
        return (await inQueue().getCompletedCount()) === 21;
      };
      await eventually(end);
      const ofAnna = begun.filter((name) => name.startsWith("anna"));
      expect(ofAnna).to.have.lengthOf(20);
      expect(new Set(ofAnna).size).to.equal(20);
      const [job] = await inQueue().getCompleted();
      expect(job?.attemptsMade).to.equal(1);
    });
  });
}
