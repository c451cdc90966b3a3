import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { handle } from "../../../src/commands/core/handle.ts";
import { project } from "../../../src/commands/project/project.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import { currentCaller } from "../../../src/platform/caller.ts";
import { parseOutboundAllow } from "../../../src/platform/outbound/address.ts";
import { openOutboundHttp } from "../../../src/platform/outbound/http.ts";
import { PermanentFailure } from "../../../src/platform/queue/queue.ts";
import { findProjectById } from "../../../src/projections/project/project.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import {
  webhookDeliveryWorker,
  webhookRetryWorker,
} from "../../../src/workers/webhook/delivery.ts";
import { metadataFor } from "../../support/app/history.ts";
import { givenProject } from "../../support/app/worker-deps.ts";
import {
  type DeliveryBench,
  deliveryBench,
  never,
  startOfTime,
} from "../../support/client/delivery-bench.ts";
import { startReceiver } from "../../support/client/receiver.ts";
import { deleteWebhook, givenWebhook } from "../../support/client/webhook-order.ts";

describe("delivering webhooks", () => {
  let bench: DeliveryBench;
  before(async () => {
    bench = await deliveryBench();
  });
  beforeEach(() => bench.reset());

  it("posts the body with its headers, and records the answer", async () => {
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook, { body: '{"action":"BRANCH_CREATE"}' });
    bench.receiver.answer((response) =>
      response.writeHead(202, { "x-answer": "yes" }).end("taken"),
    );

    await bench.turn(webhook);

    expect(bench.receiver.received).to.have.length(1);
    const [request] = bench.receiver.received;
    expect(request).to.include({ method: "POST", body: '{"action":"BRANCH_CREATE"}' });
    expect(request?.headers).to.include({
      "service-webhook-event": "BRANCH_CREATE",
      "service-webhook-delivery": deliveryId,
      "service-webhook-secret": "s3cret",
      "webhook-timestamp": String(Math.floor(startOfTime.getTime() / 1000)),
    });
    const { delivery, attempts } = await bench.logOf(webhook.webhookId, deliveryId);
    expect(delivery).to.include({ status: "SUCCESS", attempts: 1, last_status: 202 });
    expect(attempts[0]).to.include({ status: 202, failure: null, url: bench.receiver.url });
    const answer = JSON.parse((await bench.deps.vault.open(attempts[0]!.response!)) ?? "");
    expect(answer).to.deep.include({ body: "taken", bodyTruncated: false });
    expect(answer.headers["x-answer"]).to.equal("yes");
  });

  it("keeps the first 8 KiB of a long answer", async () => {
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook);
    bench.receiver.answer((response) => void response.end("x".repeat(100_000)));
    await bench.turn(webhook);
    const { attempts } = await bench.logOf(webhook.webhookId, deliveryId);
    const answer = JSON.parse((await bench.deps.vault.open(attempts[0]!.response!)) ?? "");
    expect(answer.body).to.have.length(8_192);
    expect(answer.bodyTruncated).to.equal(true);
  });

  it("sends nothing when the job runs again after success", async () => {
    const webhook = await bench.given();
    await bench.inLine(webhook);
    const job = randomUUID();
    await bench.turn(webhook, job);
    await bench.turn(webhook, job);
    expect(bench.receiver.received).to.have.length(1);
  });

  it("tries again after a 500, under the same id, and succeeds", async () => {
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook);
    bench.receiver.answer((response) => response.writeHead(500).end("no"));
    await bench.turn(webhook);
    expect(await bench.stateOf(deliveryId)).to.include({ status: "pending", attempts: 1 });
    expect(await bench.retryWaiting(deliveryId)).to.be.within(4_500, 5_500);

    bench.receiver.reset();
    bench.clock.now = new Date(startOfTime.getTime() + 5_000);
    await bench.retry(deliveryId, 2);
    await bench.retry(deliveryId, 2);
    expect(bench.ids()).to.deep.equal([deliveryId]);
    expect(await bench.stateOf(deliveryId)).to.include({ status: "succeeded", attempts: 2 });
  });

  it("makes eight attempts by the schedule, and then no more", async () => {
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook);
    bench.receiver.answer((response) => response.writeHead(503).end());
    await bench.turn(webhook);
    const waits: number[] = [];
    for (let attempt = 2; attempt <= 8; attempt += 1) {
      const { nextAttemptAt } = await bench.stateOf(deliveryId);
      const next = new Date(nextAttemptAt!);
      waits.push(next.getTime() - bench.clock.now.getTime());
      bench.clock.now = next;
      await bench.retry(deliveryId, attempt);
    }
    const expected = [5, 30, 120, 600, 3_600, 10_800, 28_800].map((seconds) => seconds * 1000);
    for (const [index, wait] of waits.entries()) {
      expect(wait, `wait ${index + 1}`).to.be.closeTo(expected[index]!, expected[index]! / 10);
    }
    expect(await bench.stateOf(deliveryId)).to.include({ status: "failed", attempts: 8 });
    expect(new Set(bench.ids())).to.deep.equal(new Set([deliveryId]));
    expect(bench.receiver.received).to.have.length(8);
    const open = await bench.deps.db("webhook_outbox").where("delivery_id", deliveryId);
    expect(open).to.deep.equal([]);
  });

  it("stops at once when the receiver is gone for good", async () => {
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook);
    bench.receiver.answer((response) => response.writeHead(410).end());
    await bench.turn(webhook);
    expect(await bench.stateOf(deliveryId)).to.include({ status: "failed", attempts: 1 });
    expect(await bench.retryWaiting(deliveryId)).to.equal(undefined);
  });

  it("waits as Retry-After requests, up to the next step's time", async () => {
    for (const [header, expected] of [
      ["20", 20_000],
      ["86400", 30_000],
    ] as const) {
      const webhook = await bench.given();
      const deliveryId = await bench.inLine(webhook);
      bench.receiver.answer((response) => response.writeHead(429, { "retry-after": header }).end());
      await bench.turn(webhook);
      expect(await bench.retryWaiting(deliveryId)).to.equal(expected);
    }
  });

  it("does not follow a redirect", async () => {
    const inner = await startReceiver();
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook);
    bench.receiver.answer((response) => response.writeHead(302, { location: inner.url }).end());
    await bench.turn(webhook);
    expect(inner.received).to.deep.equal([]);
    expect(await bench.stateOf(deliveryId)).to.include({ status: "pending", attempts: 1 });
  });

  it("does not wait longer than 10 s for an answer", async () => {
    const webhook = await bench.given();
    const deliveryId = await bench.inLine(webhook);
    let timeoutMs = 0;
    // The test does not wait for real time: it checks the request to the guarded client.
    const outbound: WorkerDeps["outbound"] = {
      ...bench.deps.outbound,
      request: (request) => {
        timeoutMs = request.timeoutMs;
        return bench.deps.outbound.request({ ...request, timeoutMs: 100 });
      },
    };
    bench.receiver.answer(() => undefined);
    await bench.turn(webhook, randomUUID(), { ...bench.deps, outbound });
    expect(timeoutMs).to.equal(10_000);
    const { attempts } = await bench.logOf(webhook.webhookId, deliveryId);
    expect(attempts[0]).to.include({ failure: "timeout", status: null, response: null });
  });

  it("does not reach what is not allowed, also when a redirect or a name would lead there", async () => {
    const resolve: Parameters<typeof openOutboundHttp>[0]["resolve"] = (_, done) =>
      done(null, [{ address: "127.0.0.1", family: 4 }]);
    const outbound = openOutboundHttp({ allow: parseOutboundAllow([]), resolve });
    for (const host of ["127.0.0.1", "hooks.example"]) {
      const webhook = await bench.given({ url: `http://${host}:${bench.receiver.port}/hook` });
      const deliveryId = await bench.inLine(webhook);
      await bench.turn(webhook, randomUUID(), { ...bench.deps, outbound });
      const { attempts } = await bench.logOf(webhook.webhookId, deliveryId);
      expect(attempts[0]).to.include({ failure: "url.address", status: null });
    }
    expect(bench.receiver.received).to.deep.equal([]);
  });

  it("resolves names on behalf of the owner of the project", async () => {
    const callers: (string | undefined)[] = [];
    const resolve: Parameters<typeof openOutboundHttp>[0]["resolve"] = (_, done) => {
      callers.push(currentCaller());
      done(new Error("no such name"), []);
    };
    const outbound = openOutboundHttp({ allow: parseOutboundAllow([]), resolve });
    const webhook = await bench.given({ url: "http://hooks.example/hook" });
    await bench.inLine(webhook);
    await bench.turn(webhook, randomUUID(), { ...bench.deps, outbound });
    const project = await findProjectById(bench.deps.db, webhook.projectId);
    expect(callers).to.deep.equal([project?.owner_user_id ?? webhook.projectId]);
  });

  it("sends neither secret nor signature when the webhook has none", async () => {
    const webhook = await bench.given({ secret: null });
    await bench.inLine(webhook);
    await bench.turn(webhook);
    expect(bench.receiver.received[0]?.headers).not.to.have.any.keys(
      "service-webhook-secret",
      "webhook-signature",
    );
  });

  describe("when the webhook changed", () => {
    it("abandons what is due to a deleted one", async () => {
      const webhook = await bench.given();
      const deliveryId = await bench.inLine(webhook);
      await deleteWebhook(bench.deps, webhook.projectId, webhook.webhookId);
      await bench.turn(webhook);
      expect(bench.receiver.received).to.deep.equal([]);
      expect(await bench.stateOf(deliveryId)).to.include({ status: "abandoned" });
    });

    it("abandons what nobody can read any more", async () => {
      const other = await givenProject(bench.deps, "forgotten");
      const { projectId } = other;
      const webhookId = await givenWebhook(bench.deps, { projectId, url: bench.receiver.url });
      const deliveryId = await bench.inLine({ projectId, webhookId });
      await bench.deps.vault.forget(`project-${projectId}`);
      await bench.turn({ webhookId });
      expect(bench.receiver.received).to.deep.equal([]);
      expect(await bench.stateOf(deliveryId)).to.include({ status: "abandoned" });
    });
  });

  describe("when the project is deleted", () => {
    /** A webhook of a project of its own, and what deletes or restores this. */
    async function given(name: string) {
      const { projectId, userId } = await givenProject(bench.deps, name);
      const webhookId = await givenWebhook(bench.deps, { projectId, url: bench.receiver.url });
      async function change(type: "DeleteProject" | "RestoreProject") {
        const stamp = { by: UserId.parse(userId), at: bench.clock.now.toISOString() };
        const order = { id: projectId, command: { type, projectId, ...stamp } } as const;
        const metadata = metadataFor(randomUUID());
        const { position } = await handle(bench.deps.store, project, { ...order, metadata });
        await bench.deps.visible(position);
      }
      return { webhook: { projectId, webhookId }, change };
    }
    const refuse = () => bench.receiver.answer((response) => response.writeHead(500).end());

    it("abandons what is due, and sends what is due after it was restored", async () => {
      const { webhook, change } = await given("deleted");
      refuse();
      const [due, later] = [await bench.inLine(webhook), await bench.inLine(webhook)];
      await bench.turn(webhook);
      await change("DeleteProject");
      const first = await bench.inLine(webhook);
      await bench.turn(webhook);
      await bench.retry(due, 2);
      for (const [id, attempts] of [
        [due, 1],
        [first, 0],
      ] as const) {
        const { delivery } = await bench.logOf(webhook.webhookId, id);
        const end = { status: "ABANDONED", abandoned_because: "project_deleted", attempts };
        expect(delivery).to.include({ ...end, next_attempt_at: null });
      }
      await change("RestoreProject");
      await bench.retry(later, 2);
      expect(bench.ids()).to.deep.equal([due, later, later]);
      expect(await bench.stateOf(later)).to.include({ status: "pending", attempts: 2 });
    });

    it("goes by the log where the read model is behind", async () => {
      const { webhook } = await given("behind");
      const deliveryId = await bench.inLine(webhook);
      await bench.deps.db("project").where({ id: webhook.projectId }).delete();
      await bench.turn(webhook);
      expect(bench.ids()).to.deep.equal([deliveryId]);
    });
  });

  for (const [what, worker, data] of [
    ["a malformed job", webhookDeliveryWorker, { webhookId: "x" }],
    ["a malformed retry", webhookRetryWorker, { deliveryId: randomUUID(), attempt: 1 }],
    ["a delivery nobody scheduled", webhookRetryWorker, { deliveryId: randomUUID(), attempt: 2 }],
  ] as const) {
    it(`gives up on ${what}`, async () => {
      await expect(worker.runJob(data, bench.deps, never)).to.be.rejectedWith(PermanentFailure);
    });
  }
});
