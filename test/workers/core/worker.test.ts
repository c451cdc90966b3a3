import { expect } from "chai";
import pino from "pino";
import { z } from "zod";

import { currentCaller } from "../../../src/platform/caller.ts";
import { Postponed, type WorkOptions } from "../../../src/platform/queue/queue.ts";
import type { WorkerDeps } from "../../../src/workers/core/deps.ts";
import { defineWorker, startWorker } from "../../../src/workers/core/worker.ts";
import { eventually } from "../../support/app/eventually.ts";
import { whileSuspended } from "../../support/app/suspended.ts";

const done: string[] = [];
const worker = defineWorker({
  queue: "suspended",
  concurrency: 1,
  payload: z.object({ id: z.string() }),
  run: async ({ id }) => void done.push(id),
});
const signal = new AbortController().signal;

describe("a worker", () => {
  it("leaves a job that has stopped its process twice for later, and does the others", async () => {
    const taken: WorkOptions[] = [];
    const queues = { work: async (options: WorkOptions) => void taken.push(options) };
    await startWorker(worker, { queues, log: pino({ level: "silent" }) } as unknown as WorkerDeps);
    const running = { name: "job-suspended", caller: '{"id":"bad"}' };
    await whileSuspended([running], async () => {
      const failed = taken[0]!.run({ id: "bad" }, signal);
      expect(await failed.catch((error: unknown) => error)).to.include({
        name: "Refusal",
        code: "operation.suspended",
      });
      await taken[0]!.run({ id: "good" }, signal);
    });
    await taken[0]!.run({ id: "bad" }, signal);
    expect(done).to.deep.equal(["good", "bad"]);
  });
});

describe("a worker whose jobs run on behalf of callers", () => {
  const running: { by: string | undefined; end: () => void }[] = [];
  const shared = defineWorker({
    queue: "shared",
    concurrency: 4,
    payload: z.object({ by: z.string() }),
    callerOf: async ({ by }) => by,
    run: () => new Promise<void>((end) => running.push({ by: currentCaller(), end })),
  });
  const places = shared.places!;
  const run = (by: string, leaving?: AbortSignal) =>
    shared.runJob({ by }, {} as WorkerDeps, signal, leaving);
  const of = (by: string) => running.filter((each) => each.by === by);
  afterEach(async () => {
    await eventually(() => {
      for (const { end } of running.splice(0)) end();
      return places.inUse === 0;
    });
  });

  it("runs half of them for one caller, and at once that of another", async () => {
    const noisy = Array.from({ length: 6 }, () => run("noisy"));
    await eventually(() => of("noisy").length === 2 && places.waiting("noisy") === 4);
    const quiet = run("quiet");
    await eventually(() => of("quiet").length === 1);
    of("quiet")[0]?.end();
    await quiet;
    expect(of("noisy")).to.have.length(2);
    await eventually(() => {
      for (const { end } of running.splice(0)) end();
      return places.inUse === 0;
    });
    await Promise.all(noisy);
  });

  it("sends those back to the queue that are too many to wait, and takes one of another", async () => {
    const ends = Array.from({ length: 1_000 }, () => run("noisy").catch((error: unknown) => error));
    await eventually(() => of("noisy").length === 2 && places.waiting("noisy") === 8);
    expect(await Promise.all(ends.slice(10))).to.satisfy((all: readonly unknown[]) =>
      all.every((error) => error instanceof Postponed),
    );
    void run("quiet");
    await eventually(() => of("quiet").length === 1);
    expect(shared.concurrency).to.be.above(2 + 8);
  });

  it("sends those that wait back to the queue when it closes", async () => {
    const taken: WorkOptions[] = [];
    const work = async (options: WorkOptions) => {
      taken.push(options);
      return { close: async () => undefined };
    };
    const deps = { queues: { work }, log: pino({ level: "silent" }) } as unknown as WorkerDeps;
    const { close } = await startWorker(shared, deps);
    const ends = [1, 2, 3].map(() =>
      taken[0]!.run({ by: "noisy" }, signal).catch((error: unknown) => error),
    );
    await eventually(() => places.waiting("noisy") === 1);
    await close();
    expect(await Promise.race(ends)).to.be.instanceOf(Postponed);
    expect(of("noisy")).to.have.length(2);
  });
});
