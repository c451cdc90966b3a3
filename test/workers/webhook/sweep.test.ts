import { expect } from "chai";

import {
  webhookDeliveryWorker,
  webhookRetryWorker,
} from "../../../src/workers/webhook/delivery.ts";
import { sweepWebhooks } from "../../../src/workers/webhook/sweep.ts";
import {
  type DeliveryBench,
  deliveryBench,
  never,
  startOfTime,
} from "../../support/client/delivery-bench.ts";

describe("deliveries whose jobs the queue lost", () => {
  let bench: DeliveryBench;
  before(async () => {
    bench = await deliveryBench();
  });
  beforeEach(() => bench.reset());

  const waitingIn = async (queue: string) => bench.deps.queues.queue(queue).getWaiting();
  const later = (ms: number) => {
    bench.clock.now = new Date(startOfTime.getTime() + ms);
  };

  it("are started again, once", async () => {
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook);
    await sweepWebhooks(bench.deps);
    expect(await waitingIn("webhook-delivery")).to.deep.equal([]);

    later(6 * 60_000);
    await sweepWebhooks(bench.deps);
    await sweepWebhooks(bench.deps);
    const jobs = await waitingIn("webhook-delivery");
    expect(jobs).to.have.length(1);
    await webhookDeliveryWorker.runJob(jobs[0]!.data, bench.deps, never);
    expect(bench.ids()).to.deep.equal([deliveryId]);
  });

  it("are tried again once the next attempt is due", async () => {
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook);
    bench.receiver.answer((response) => response.writeHead(500).end());
    await bench.turn(webhook);
    await bench.deps.queues.queue("webhook-retry").obliterate({ force: true });

    bench.receiver.reset();
    later(60_000);
    await sweepWebhooks(bench.deps);
    expect(await waitingIn("webhook-retry")).to.deep.equal([]);
    later(6 * 60_000);
    await sweepWebhooks(bench.deps);
    const jobs = await waitingIn("webhook-retry");
    expect(jobs.map(({ data }) => data)).to.deep.equal([{ deliveryId, attempt: 2 }]);
    await webhookRetryWorker.runJob(jobs[0]!.data, bench.deps, never);
    expect(await bench.stateOf(deliveryId)).to.include({ status: "succeeded", attempts: 2 });
  });

  it("are cleared away when they were over", async () => {
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook);
    await bench.turn(webhook);
    const row = { delivery_id: deliveryId, webhook_id: webhook.webhookId, is_first: false };
    const due_at = startOfTime;
    await bench.deps.db("webhook_outbox").insert({ ...row, position: 1, due_at });
    later(6 * 60_000);
    await sweepWebhooks(bench.deps);
    const left = await bench.deps.db("webhook_outbox").where("delivery_id", deliveryId);
    expect(left).to.deep.equal([]);
  });
});
