import { expect } from "chai";

import { webhookLogStream } from "../../../src/events/webhook/log.ts";
import { sweepWebhookLog } from "../../../src/workers/webhook/log.ts";
import {
  type DeliveryBench,
  deliveryBench,
  startOfTime,
} from "../../support/client/delivery-bench.ts";

const dayMs = 24 * 3_600_000;

describe("the sweep of the log of deliveries", () => {
  let bench: DeliveryBench;
  before(async () => {
    bench = await deliveryBench();
  });
  beforeEach(() => bench.reset());

  async function purges(): Promise<readonly unknown[]> {
    const found: unknown[] = [];
    for await (const { data } of bench.deps.store.readStream(webhookLogStream("instance")))
      found.push(data["endedBefore"]);
    return found;
  }
  const shown = async () => {
    await bench.deps.visible(await bench.deps.store.head());
    return bench.deps.db("webhook_delivery").orderBy("position").pluck("id");
  };
  const sweepAfter = async (days: number) => {
    bench.clock.now = new Date(startOfTime.getTime() + days * dayMs);
    await sweepWebhookLog(bench.deps);
  };

  it("takes away a day at a time what ended long enough ago, and nothing else", async () => {
    const webhook = await bench.given();
    await bench.inLine(webhook);
    await bench.turn(webhook);
    bench.clock.now = new Date(startOfTime.getTime() + 3 * dayMs);
    const second = await bench.inLine(webhook);
    await bench.turn(webhook);
    const slow = await bench.given();
    const waiting = await bench.inLine(slow);
    expect(await shown()).to.have.length(3);

    await sweepAfter(30);
    expect(await purges()).to.deep.equal([]);
    await sweepAfter(31);
    expect(await shown()).to.deep.equal([second, waiting]);
    await sweepAfter(31);
    expect(await purges()).to.deep.equal(["2026-01-03T00:00:00.000Z"]);

    await sweepAfter(60);
    await sweepAfter(60);
    expect(await shown()).to.deep.equal([waiting]);
    expect(await purges()).to.deep.equal(["2026-01-03T00:00:00.000Z", "2026-01-06T00:00:00.000Z"]);
  });

  it("goes by the setting", async () => {
    bench.clock.now = new Date(startOfTime.getTime() + 200 * dayMs);
    const webhook = await bench.given();
    const recent = await bench.inLine(webhook);
    await bench.turn(webhook);
    const config = { ...bench.deps.config, webhookLogRetentionDays: 100 };
    bench.clock.now = new Date(startOfTime.getTime() + 300 * dayMs);
    await sweepWebhookLog({ ...bench.deps, config });
    expect(await shown()).to.include(recent);
    bench.clock.now = new Date(startOfTime.getTime() + 301 * dayMs);
    await sweepWebhookLog({ ...bench.deps, config });
    expect(await shown()).not.to.include(recent);
  });
});
