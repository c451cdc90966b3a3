import { expect } from "chai";
import pino from "pino";

import {
  openQueues,
  PermanentFailure,
  type Queues,
  type RunningWorker,
  type WorkOptions,
} from "../../../src/platform/queue/queue.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";
import { needsRedis, testRedis } from "../../support/store/redis.ts";

const backends = ["PostgreSQL", "Redis"];

for (const backend of backends) {
  describe(`queues on ${backend}`, () => {
    if (backend === "Redis") needsRedis();
    let queues: Queues;
    let open: () => Promise<Queues>;
    const workers: RunningWorker[] = [];

    before(async () => {
      const { url } = await testDatabase();
      const redisUrl = backend === "Redis" ? await testRedis() : undefined;
      open = () => openQueues({ databaseUrl: url, redisUrl, log: pino({ level: "silent" }) });
      queues = await open();
    });
    afterEach(async () => {
      await Promise.all(workers.splice(0).map((worker) => worker.close()));
    });
    after(() => queues?.close());

    async function work(queue: string, run: WorkOptions["run"], concurrency = 1): Promise<void> {
      workers.push(await queues.work({ queue, concurrency, run }));
    }

    it("hands a job over with its data, once", async () => {
      const seen: unknown[] = [];
      await work("once", async (data) => void seen.push(data));
      await queues.add([{ queue: "once", id: "a", data: { n: 1 } }]);
      await eventually(async () => (await queues.queue("once").getCompletedCount()) === 1);
      expect(seen).to.deep.equal([{ n: 1 }]);
    });

    it("takes jobs in the order they were added, over several queues too", async () => {
      const jobs = Array.from({ length: 20 }, (_, n) => ({
        queue: n % 2 === 0 ? "even" : "odd",
        id: `job-${n}`,
        data: { n },
      }));
      await queues.add(jobs);
      const seen: Record<string, number[]> = { even: [], odd: [] };
      for (const queue of ["even", "odd"]) {
        await work(queue, async (data) => void seen[queue]?.push((data as { n: number }).n));
      }
      await eventually(() => seen["even"]?.length === 10 && seen["odd"]?.length === 10);
      expect(seen["even"]).to.deep.equal([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
      expect(seen["odd"]).to.deep.equal([1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    });

    it("adds nothing when the id is known, also after the job is done", async () => {
      let runs = 0;
      const job = { queue: "known", id: "same", data: {} };
      await queues.add([job, job]);
      await work("known", async () => {
        runs += 1;
      });
      await eventually(async () => (await queues.queue("known").getCompletedCount()) === 1);
      await queues.add([job, { ...job, id: "other" }]);
      await eventually(async () => (await queues.queue("known").getCompletedCount()) === 2);
      expect(runs).to.equal(2);
    });

    it("tries again what failed", async () => {
      let runs = 0;
      await work("retry", async () => {
        runs += 1;
        if (runs < 3) throw new Error("not yet");
      });
      await queues.add([{ queue: "retry", id: "a", data: {} }]);
      await eventually(async () => (await queues.queue("retry").getCompletedCount()) === 1);
      expect(runs).to.equal(3);
    });

    it("does not try a permanent failure again, and says why", async () => {
      let runs = 0;
      await work("gone", async () => {
        runs += 1;
        throw new PermanentFailure("no such repository");
      });
      await queues.add([{ queue: "gone", id: "a", data: {} }]);
      await eventually(async () => (await queues.queue("gone").getFailedCount()) === 1);
      const [job] = await queues.queue("gone").getFailed();
      expect(job?.failedReason).to.equal("no such repository");
      expect(runs).to.equal(1);
    });

    it("keeps a job back until its time", async () => {
      let ranAt = 0;
      await work("later", async () => {
        ranAt = performance.now();
      });
      const addedAt = performance.now();
      await queues.add([{ queue: "later", id: "a", data: {}, delayMs: 300 }]);
      await eventually(() => ranAt > 0);
      expect(ranAt - addedAt).to.be.at.least(295);
    });

    it("puts a job back, and lets it begin before its time when it is recalled", async () => {
      let runs = 0;
      await work("back", async (_data, _signal, job) => {
        runs += 1;
        if (runs === 1) await job.putBack(60_000);
      });
      const job = { queue: "back", id: "a", data: {} };
      await queues.add([job]);
      await eventually(async () => (await queues.queue("back").getDelayedCount()) === 1);
      await queues.add([job]);
      await queues.recall("back", "a");
      await eventually(async () => (await queues.queue("back").getCompletedCount()) === 1);
      expect(runs).to.equal(2);
      const [done] = await queues.queue("back").getCompleted();
      expect(done?.attemptsMade).to.equal(1);
      await expect(queues.recall("back", "a")).to.be.rejectedWith("not in the delayed state");
    });

    it("runs as many at a time as configured", async () => {
      let running = 0;
      let most = 0;
      let release = (): void => undefined;
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      await queues.add(
        Array.from({ length: 6 }, (_, n) => ({ queue: "wide", id: `w${n}`, data: {} })),
      );
      const run = async () => {
        running += 1;
        most = Math.max(most, running);
        await gate;
        running -= 1;
      };
      await work("wide", run, 3);
      await eventually(() => running === 3);
      release();
      await eventually(async () => (await queues.queue("wide").getCompletedCount()) === 6);
      expect(most).to.equal(3);
    });

    it("lets a running job end before a worker is closed", async () => {
      let ended = false;
      let begun = false;
      await queues.add([{ queue: "closing", id: "a", data: {} }]);
      await work("closing", async () => {
        begun = true;
        await new Promise((resolve) => setTimeout(resolve, 200));
        ended = true;
      });
      await eventually(() => begun);
      await workers.pop()?.close();
      expect(ended).to.equal(true);
    });

    it("gives a job to the workers of every process", async () => {
      const other = await open();
      const seen: string[] = [];
      await queues.add(
        Array.from({ length: 30 }, (_, n) => ({ queue: "shared", id: `s${n}`, data: { n } })),
      );
      // The first job of the one lasts until the other has one too.
      const as = (name: string) => async () => {
        seen.push(name);
        await eventually(() => new Set(seen).size === 2);
      };
      await work("shared", as("a"));
      const second = await other.work({ queue: "shared", concurrency: 1, run: as("b") });
      await eventually(async () => (await queues.queue("shared").getCompletedCount()) === 30);
      await second.close();
      await other.close();
      expect(new Set(seen)).to.deep.equal(new Set(["a", "b"]));
      expect(seen).to.have.length(30);
    });
  });
}
