import { expect } from "chai";
import pino from "pino";
import { z } from "zod";

import type { WorkOptions } from "../../../src/platform/queue/queue.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { defineWorker, startWorker } from "../../../src/workers/core/worker.ts";
import { whileSuspended } from "../../support/app/suspended.ts";

const done: string[] = [];
const worker = defineWorker({
  queue: "suspended",
  concurrency: 1,
  payload: z.object({ id: z.string() }),
  run: async ({ id }) => void done.push(id),
});
const signal = new AbortController().signal;
const job = { id: "1", putBack: async () => undefined };

describe("a worker", () => {
  it("leaves a job that has stopped its process twice for later, and does the others", async () => {
    const taken: WorkOptions[] = [];
    const queues = { work: async (options: WorkOptions) => void taken.push(options) };
    await startWorker(worker, { queues, log: pino({ level: "silent" }) } as unknown as WorkerDeps);
    const running = { name: "job-suspended", caller: '{"id":"bad"}' };
    await whileSuspended([running], async () => {
      const failed = taken[0]!.run({ id: "bad" }, signal, job);
      expect(await failed.catch((error: unknown) => error)).to.include({
        name: "Refusal",
        code: "operation.suspended",
      });
      await taken[0]!.run({ id: "good" }, signal, job);
    });
    await taken[0]!.run({ id: "bad" }, signal, job);
    expect(done).to.deep.equal(["good", "bad"]);
  });
});
