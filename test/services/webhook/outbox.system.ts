import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { claimFirst, endTurn, enqueue } from "../../../src/services/webhook/outbox.ts";
import { webhookDeliveryWorker } from "../../../src/workers/webhook/delivery.ts";
import { type DeliveryBench, deliveryBench, never } from "../../support/client/delivery-bench.ts";
import { givenDelivery } from "../../support/client/webhook-order.ts";

describe("the deliveries of one webhook", () => {
  let bench: DeliveryBench;
  before(async () => {
    bench = await deliveryBench();
  });
  beforeEach(() => bench.reset());

  /** Turns until so many have arrived: one ends after two seconds, which a busy machine may need for each. */
  async function turnsUntil(webhook: Parameters<DeliveryBench["turn"]>[0], count: number) {
    for (let turns = 0; bench.ids().length < count && turns < 50; turns += 1) {
      await bench.turn(webhook);
    }
  }

  it("starts them in the order of the log, whatever job runs first", async () => {
    const webhook = await bench.given();
    const first = await givenDelivery(bench.deps, webhook);
    const second = await givenDelivery(bench.deps, webhook);
    const { webhookId } = webhook;
    const now = bench.clock.now;
    await enqueue(bench.deps.db, [{ ...second, webhookId }], now);
    await enqueue(bench.deps.db, [{ ...first, webhookId }], now);
    await turnsUntil(webhook, 2);
    expect(bench.ids()).to.deep.equal([first.deliveryId, second.deliveryId]);
  });

  it("starts the next only after the first attempt before it ended", async () => {
    const webhook = await bench.given();
    const first = await bench.inLine(webhook);
    const second = await bench.inLine(webhook);
    const seen: unknown[] = [];
    bench.receiver.answer((response, { headers }) => {
      if (headers["webhook-id"] !== first) return void response.end();
      // Another job of the same webhook while the first request is under way.
      void bench.turn(webhook).then(() => {
        seen.push(...bench.ids());
        response.end();
      });
    });
    await turnsUntil(webhook, 2);
    expect(seen).to.deep.equal([first]);
    expect(bench.ids()).to.deep.equal([first, second]);
  });

  it("takes turns: after fifty deliveries another job goes on with the line", async () => {
    const webhook = await bench.given();
    const ids: string[] = [];
    for (let n = 0; n < 53; n += 1) ids.push(await bench.inLine(webhook));
    await bench.turn(webhook);
    // Fewer on a machine that takes more than two seconds for them.
    const made = bench.ids();
    expect(made).to.deep.equal(ids.slice(0, Math.min(made.length, 50)));

    const waiting = await bench.deps.queues.queue("webhook-delivery").getWaiting();
    const called = waiting.filter(({ data }) => data.webhookId === webhook.webhookId);
    expect(called).to.have.length(1);
    for (let turns = 0; bench.ids().length < ids.length && turns < 50; turns += 1) {
      await webhookDeliveryWorker.runJob(called[0]!.data, bench.deps, never);
    }
    expect(bench.ids()).to.deep.equal(ids);
  });

  it("makes what it claimed and did not come to free for the next turn", async () => {
    const webhook = await bench.given();
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push(await bench.inLine(webhook));
    const turn = { id: randomUUID(), now: bench.clock.now };
    const { db } = bench.deps;
    expect(await claimFirst(db, webhook.webhookId, turn, 3)).to.deep.equal(ids.slice(0, 3));
    const other = { ...turn, id: randomUUID() };
    expect(await claimFirst(db, webhook.webhookId, other, 3)).to.deep.equal([]);
    const ended = [{ deliveryId: ids[0]!, retryAt: undefined }];
    expect(await endTurn(db, webhook.webhookId, ended, turn.id)).to.equal(ids[1]);
    expect(await claimFirst(db, webhook.webhookId, other, 3)).to.deep.equal(ids.slice(1));
  });

  it("adds a job for a line only when no job runs that takes the next delivery", async () => {
    const webhook = await bench.given();
    const { webhookId } = webhook;
    const now = bench.clock.now;
    const [first, second] = [
      await givenDelivery(bench.deps, webhook),
      await givenDelivery(bench.deps, webhook),
    ];
    const isHead = async (delivery: typeof first) => {
      const heads = await enqueue(bench.deps.db, [{ ...delivery, webhookId }], now);
      return heads.has(delivery.deliveryId);
    };
    expect(await isHead(first)).to.equal(true);
    expect(await isHead(second)).to.equal(false);
    // Repeated after a crash, before a job was added.
    expect(await isHead(first)).to.equal(true);
    await bench.turn(webhook);
    expect(await isHead(second)).to.equal(true);
  });

  it("puts many in line at once, each at its place in the line of its own webhook", async () => {
    const [one, two] = [await bench.given(), await bench.given()];
    const given = async (webhook: typeof one) => ({
      ...(await givenDelivery(bench.deps, webhook)),
      webhookId: webhook.webhookId,
    });
    const [a, b, c] = [await given(one), await given(two), await given(one)];
    const heads = await enqueue(bench.deps.db, [c, b, a], bench.clock.now);
    expect([...heads].sort()).to.deep.equal([a.deliveryId, b.deliveryId].sort());
    await turnsUntil(one, 2);
    await turnsUntil(two, 3);
    expect(bench.ids()).to.deep.equal([a.deliveryId, c.deliveryId, b.deliveryId]);
  });

  it("does not let a delivery that is tried again hold up the next", async () => {
    const webhook = await bench.given();
    const failing = await bench.inLine(webhook);
    const next = await bench.inLine(webhook);
    bench.receiver.answer((response, { headers }) => {
      response.writeHead(headers["webhook-id"] === failing ? 500 : 200).end();
    });
    await turnsUntil(webhook, 2);
    expect(bench.ids()).to.deep.equal([failing, next]);
    expect(await bench.stateOf(failing)).to.include({ status: "pending" });
    expect(await bench.stateOf(next)).to.include({ status: "succeeded" });
  });

  it("gives a job that runs again after a crash what it had claimed", async () => {
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook);
    const job = randomUUID();
    const dead = { ...bench.deps, outbound: { ...bench.deps.outbound, request: () => crash() } };
    const died = new AbortController();
    const crash = (): Promise<never> => {
      died.abort(new Error("killed"));
      return Promise.reject(new Error("killed"));
    };
    const data = { webhookId: webhook.webhookId, turn: job };
    await expect(webhookDeliveryWorker.runJob(data, dead, died.signal)).to.be.rejectedWith(
      "killed",
    );
    // Others leave it alone; the job itself goes on.
    await bench.turn(webhook);
    expect(bench.receiver.received).to.deep.equal([]);
    await bench.turn(webhook, job);
    expect(bench.ids()).to.deep.equal([deliveryId]);
    expect(await bench.stateOf(deliveryId)).to.include({ status: "succeeded", attempts: 1 });
  });

  for (const line of ["seal", "append", "add", "endFirst"] as const) {
    it(`survives dying at the ${line} after a failed request`, async () => {
      const webhook = await bench.given();
      const deliveryId = await bench.inLine(webhook);
      const next = await bench.inLine(webhook);
      bench.receiver.answer((response, { headers }) => {
        response.writeHead(headers["webhook-id"] === deliveryId ? 500 : 200).end();
      });
      const job = randomUUID();
      await expect(bench.turn(webhook, job, dyingAt(line, bench.deps))).to.be.rejectedWith(
        "killed",
      );
      await bench.turn(webhook, job);

      expect(await bench.stateOf(deliveryId)).to.include({ status: "pending", attempts: 1 });
      expect(await bench.retryWaiting(deliveryId)).to.be.within(4_500, 5_500);
      expect(await bench.stateOf(next)).to.include({ status: "succeeded" });
      const sent = bench.ids().filter((id) => id === deliveryId).length;
      expect(sent).to.equal(line === "seal" || line === "append" ? 2 : 1);
    });
  }
});

/** Workers that die when they come to a line, once. */
function dyingAt(line: "seal" | "append" | "add" | "endFirst", deps: WorkerDeps): WorkerDeps {
  const killed = () => Promise.reject(new Error("killed"));
  switch (line) {
    case "seal":
      return { ...deps, vault: { ...deps.vault, seal: killed } };
    case "append":
      return { ...deps, store: { ...deps.store, append: killed } };
    case "add":
      return { ...deps, queues: { ...deps.queues, add: killed } };
    case "endFirst": {
      // The claim is the first transaction of a job, leaving the line the second.
      let transactions = 0;
      const db = new Proxy(deps.db, {
        get(target, property, receiver) {
          if (property === "transaction" && ++transactions === 2) return killed;
          return Reflect.get(target, property, receiver);
        },
      });
      return { ...deps, db };
    }
  }
}
