import { expect } from "chai";

import type { WebhookId } from "../../../src/events/core/ids.ts";
import {
  type DeliveryBench,
  deliveryBench,
  startOfTime,
} from "../../support/client/delivery-bench.ts";

describe("deliveries that only ever fail", () => {
  let bench: DeliveryBench;
  before(async () => {
    bench = await deliveryBench();
  });
  beforeEach(() => bench.reset());

  const dayMs = 24 * 60 * 60_000;

  async function failOnce(webhook: Awaited<ReturnType<DeliveryBench["given"]>>, days: number) {
    bench.clock.now = new Date(startOfTime.getTime() + days * dayMs);
    bench.receiver.answer((response) => response.writeHead(500).end());
    const deliveryId = await bench.inLine(webhook);
    await bench.turn(webhook);
    return deliveryId;
  }

  it("switches the webhook off after five days, and says since when", async () => {
    const webhook = await bench.given();
    await failOnce(webhook, 0);
    await failOnce(webhook, 4.9);
    expect(await switchedOff(webhook.webhookId)).to.deep.equal([]);
    await failOnce(webhook, 5);

    expect(await switchedOff(webhook.webhookId)).to.deep.equal([
      { failingSince: startOfTime.toISOString(), switchedOffAt: bench.clock.now.toISOString() },
    ]);
    const late = await failOnce(webhook, 5.1);
    expect(await bench.stateOf(late)).to.include({ status: "abandoned", attempts: 0 });
  });

  it("does not, when anything arrived in between", async () => {
    const webhook = await bench.given();
    await failOnce(webhook, 0);
    bench.clock.now = new Date(startOfTime.getTime() + 2 * dayMs);
    bench.receiver.reset();
    await bench.inLine(webhook);
    await bench.turn(webhook);
    await failOnce(webhook, 5.5);
    expect(await switchedOff(webhook.webhookId)).to.deep.equal([]);
  });

  it("may still be tried out", async () => {
    const webhook = await bench.given();
    await failOnce(webhook, 0);
    await failOnce(webhook, 6);
    bench.receiver.reset();
    const test = await bench.inLine(webhook, { action: "TEST_WEBHOOK" });
    await bench.turn(webhook);
    expect(bench.ids()).to.deep.equal([test]);
  });

  async function switchedOff(webhookId: WebhookId) {
    const found: unknown[] = [];
    for await (const event of bench.deps.store.readStream(`webhook-${webhookId}`)) {
      if (event.type === "WebhookSwitchedOff") found.push(event.data);
    }
    return found;
  }
});
