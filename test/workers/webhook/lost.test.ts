import { expect } from "chai";

import { webhookDelivery } from "../../../src/commands/webhook/delivery.ts";
import { currentRun } from "../../../src/platform/postgres/run.ts";
import { load } from "../../../src/services/core/caused-by.ts";
import { saveReactorPositions } from "../../../src/services/core/reactor-checkpoint.ts";
import { stalledQueues } from "../../../src/services/webhook/outbox.ts";
import { startWorker } from "../../../src/workers/core/worker.ts";
import {
  webhookDeliveryWorker,
  webhookRetryWorker,
} from "../../../src/workers/webhook/delivery.ts";
import { webhookDispatch } from "../../../src/workers/webhook/dispatch.ts";
import { lostDeliveries, sweepLostDeliveries } from "../../../src/workers/webhook/lost.ts";
import { sweepWebhooks } from "../../../src/workers/webhook/sweep.ts";
import { eventually } from "../../support/app/eventually.ts";
import {
  type DeliveryBench,
  deliveryBench,
  never,
  startOfTime,
} from "../../support/client/delivery-bench.ts";
import { givenDelivery } from "../../support/client/webhook-order.ts";

describe("deliveries after a crash", () => {
  let bench: DeliveryBench;
  before(async () => {
    bench = await deliveryBench();
  });
  beforeEach(() => bench.reset());

  async function eventOf(deliveryId: string) {
    for await (const event of bench.deps.store.readStream(`webhookDelivery-${deliveryId}`)) {
      return event;
    }
    throw new Error(`no delivery ${deliveryId}`);
  }

  async function dispatch(deliveryId: string): Promise<void> {
    const jobs = await webhookDispatch.react(await eventOf(deliveryId), bench.deps);
    await bench.deps.queues.add(jobs);
  }

  /** The reactor has passed everything that is in the log. */
  async function dispatched(): Promise<void> {
    const head = (await bench.deps.store.head()) ?? 0n;
    await bench.deps.visible(head);
    const { id } = await currentRun(bench.deps.db);
    await saveReactorPositions(bench.deps.db, new Map([[webhookDispatch.name, head]]), id);
  }

  it("do not hold up the next ones when they are dispatched a second time", async () => {
    const webhook = await bench.given();
    const worker = await startWorker(webhookDeliveryWorker, bench.deps);
    try {
      const first = await givenDelivery(bench.deps, webhook);
      await dispatch(first.deliveryId);
      await eventually(async () => (await bench.stateOf(first.deliveryId)).status === "succeeded");
      await eventually(async () => (await activeJobs()) === 0);

      // The process was killed before it could save how far the reactor was.
      await dispatch(first.deliveryId);
      const second = await givenDelivery(bench.deps, webhook);
      await dispatch(second.deliveryId);
      await eventually(async () => (await bench.stateOf(second.deliveryId)).status === "succeeded");
      expect(bench.ids()).to.deep.equal([first.deliveryId, second.deliveryId]);
    } finally {
      await worker.close();
    }
  });

  it("are put back in line when their row is gone, and sent once", async () => {
    const webhook = await bench.given();
    const lost = await givenDelivery(bench.deps, webhook);
    const done = await bench.inLine(webhook);
    await bench.turn(webhook);
    await dispatched();
    bench.receiver.reset();
    expect((await lostDeliveries(bench.deps)).map(({ deliveryId }) => deliveryId)).to.deep.equal([
      lost.deliveryId,
    ]);

    await sweepLostDeliveries(bench.deps);
    expect(await lostDeliveries(bench.deps)).to.deep.equal([]);
    const jobs = await bench.deps.queues.queue("webhook-delivery").getWaiting();
    const job = jobs.find(({ data }) => data.webhookId === webhook.webhookId);
    await webhookDeliveryWorker.runJob(job!.data, bench.deps, never);
    expect(bench.ids()).to.deep.equal([lost.deliveryId]);
    expect((await bench.stateOf(done)).status).to.equal("succeeded");
  });

  it("are put back beside the line when an attempt was made", async () => {
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook);
    bench.receiver.answer((response) => response.writeHead(500).end());
    await bench.turn(webhook);
    await bench.deps.db("webhook_outbox").where({ delivery_id: deliveryId }).delete();
    await bench.deps.queues.queue("webhook-retry").obliterate({ force: true });
    await dispatched();

    bench.receiver.reset();
    await sweepLostDeliveries(bench.deps);
    bench.clock.now = new Date(startOfTime.getTime() + 10 * 60_000);
    await sweepWebhooks(bench.deps);
    const [job] = await bench.deps.queues.queue("webhook-retry").getWaiting();
    expect(job?.data).to.deep.equal({ deliveryId, attempt: 2 });
    await webhookRetryWorker.runJob(job!.data, bench.deps, never);
    const { state } = await load(bench.deps.store, webhookDelivery, deliveryId);
    expect(state).to.include({ status: "succeeded", attempts: 2 });
  });

  it("are not lost while the reactor has not come to them, nor once they ended", async () => {
    const webhook = await bench.given();
    await bench.inLine(webhook);
    await bench.turn(webhook);
    await dispatched();
    await givenDelivery(bench.deps, webhook);
    await bench.deps.visible(await bench.deps.store.head());
    expect(await lostDeliveries(bench.deps)).to.deep.equal([]);
  });

  it("show as a stalled queue while no worker delivers them", async () => {
    const webhook = await bench.given();
    await bench.inLine(webhook);
    await bench.inLine(webhook);
    const { webhookId } = webhook;
    const of = async (before: Date) =>
      (await stalledQueues(bench.deps.db, before)).filter((line) => line.webhookId === webhookId);
    expect(await of(startOfTime)).to.deep.equal([]);
    const later = new Date(startOfTime.getTime() + 1);
    expect(await of(later)).to.deep.equal([{ webhookId, dueAt: startOfTime, waiting: 2 }]);
    await bench.turn(webhook);
    expect(await of(later)).to.deep.equal([]);
  });

  const activeJobs = () => bench.deps.queues.queue("webhook-delivery").getActiveCount();
});
