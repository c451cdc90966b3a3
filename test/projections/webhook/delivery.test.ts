import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { WebhookDeliveryId, WebhookId } from "../../../src/events/core/ids.ts";
import { webhookDeliveryStream } from "../../../src/events/webhook/delivery.ts";
import { webhookLogStream } from "../../../src/events/webhook/log.ts";
import { webhookStream } from "../../../src/events/webhook/webhook.ts";
import {
  findWebhookDelivery,
  firstDeliveryEnd,
  listAttempts,
  listWebhookDeliveries,
  webhookDeliveryProjection,
} from "../../../src/projections/webhook/delivery.ts";
import { at, history } from "../../support/app/history.ts";
import { context, project, reset, rewind, rowsOf } from "../../support/app/projection.ts";
import {
  webhookId as anyWebhookId,
  attemptFailed,
  deliveryAbandoned,
  deliveryScheduled,
  deliverySucceeded,
  webhookDeleted,
} from "../../support/client/webhook.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const webhookId = WebhookId.parse(anyWebhookId);
const otherWebhookId = WebhookId.parse(randomUUID());
const deliveryId = WebhookDeliveryId.parse(randomUUID());

describe("the delivery log", () => {
  beforeEach(() => reset(db, webhookDeliveryProjection));

  const log = (...events: readonly AnyEvent[]) =>
    history(...events.map((event) => [webhookDeliveryStream(deliveryId), event] as const));
  const apply = (...events: readonly AnyEvent[]) =>
    project(db, webhookDeliveryProjection, log(...events), context);
  const shown = () => findWebhookDelivery(db, webhookId, deliveryId);

  it("shows a delivery that waits, under its own webhook only", async () => {
    await apply(deliveryScheduled(deliveryId));
    expect(await shown()).to.deep.include({
      status: "PENDING",
      action: "BRANCH_CREATE",
      attempts: 0,
      body: "sealed.project-1.BBBB",
      created_at: new Date(at),
      finished_at: null,
      last_status: null,
    });
    expect(await findWebhookDelivery(db, otherWebhookId, deliveryId)).to.equal(undefined);
  });

  it("shows every attempt, and when the next one follows", async () => {
    await apply(deliveryScheduled(deliveryId), attemptFailed());
    expect(await shown()).to.deep.include({
      status: "PENDING",
      attempts: 1,
      next_attempt_at: new Date("2026-01-02T03:04:10.678Z"),
      last_status: 500,
      last_failure: "status",
    });

    await apply(
      deliveryScheduled(deliveryId),
      attemptFailed(),
      deliverySucceeded({ attempt: 2, status: 204 }),
    );
    expect(await shown()).to.deep.include({
      status: "SUCCESS",
      attempts: 2,
      next_attempt_at: null,
      last_status: 204,
      last_failure: null,
      finished_at: new Date(at),
    });
    const attempts = await listAttempts(db, deliveryId);
    expect(
      attempts.map(({ attempt, status, failure }) => [attempt, status, failure]),
    ).to.deep.equal([
      [1, 500, "status"],
      [2, 204, null],
    ]);
    expect(attempts[0]).to.deep.include({ connect_ms: 1, first_byte_ms: 2, total_ms: 3 });
  });

  it("shows one that failed for good, and one that was abandoned", async () => {
    const last = attemptFailed({ attempt: 1, status: 410, nextAttemptAt: null });
    await apply(deliveryScheduled(deliveryId), last);
    expect(await shown()).to.deep.include({ status: "FAILED", finished_at: new Date(at) });

    await reset(db, webhookDeliveryProjection);
    await apply(deliveryScheduled(deliveryId), deliveryAbandoned);
    expect(await shown()).to.deep.include({
      status: "ABANDONED",
      abandoned_because: "webhook_switched_off",
    });
  });

  it("lists a webhook's deliveries, newest first", async () => {
    const ids = Array.from({ length: 3 }, () => randomUUID());
    const events = ids.map((id) => [webhookDeliveryStream(id), deliveryScheduled(id)] as const);
    const other = randomUUID();
    const foreign = deliveryScheduled(other, { webhookId: otherWebhookId });
    const all = history(...events, [webhookDeliveryStream(other), foreign]);
    await project(db, webhookDeliveryProjection, all, context);

    const page = await listWebhookDeliveries(db, webhookId, { limit: 2, offset: 0 });
    expect(page.rows.map(({ id }) => id)).to.deep.equal([ids[2], ids[1]]);
    expect(page.total).to.equal(3);
  });

  it("goes with its webhook, also for attempts that end afterwards", async () => {
    const stream = webhookDeliveryStream(deliveryId);
    const events = history(
      [stream, deliveryScheduled(deliveryId)],
      [stream, attemptFailed()],
      [webhookStream(webhookId), webhookDeleted],
      [stream, deliverySucceeded({ attempt: 2 })],
    );
    await project(db, webhookDeliveryProjection, events, context);
    expect(await rowsOf(db, webhookDeliveryProjection)).to.deep.equal({
      webhook_delivery: [],
      webhook_delivery_attempt: [],
    });
  });

  it("is purged as the log says: what ended before goes with its attempts, what waits stays", async () => {
    const [over, waiting, later] = [randomUUID(), randomUUID(), randomUUID()];
    const streams = [over, waiting, later].map(webhookDeliveryStream);
    const cut = { type: "WebhookLogPurged", data: { endedBefore: at, purgedAt: at } };
    const events = history(
      [streams[0]!, deliveryScheduled(over)],
      [streams[0]!, deliverySucceeded({ attempt: 1 })],
      [streams[1]!, deliveryScheduled(waiting)],
      [streams[1]!, attemptFailed()],
      [streams[2]!, deliveryScheduled(later)],
      [streams[2]!, deliverySucceeded({ attempt: 1 })],
      [webhookLogStream("instance"), cut],
    );
    const early = new Date(Date.parse(at) - 1).toISOString();
    const dated = events.map((event) =>
      event.stream === streams[0]
        ? { ...event, metadata: { ...event.metadata, occurredAt: early } }
        : event,
    );
    await project(db, webhookDeliveryProjection, dated, context);

    const { rows } = await listWebhookDeliveries(db, webhookId, { limit: 9, offset: 0 });
    expect(rows.map(({ id }) => id)).to.deep.equal([later, waiting]);
    expect(await listAttempts(db, WebhookDeliveryId.parse(over))).to.deep.equal([]);
    expect(await listAttempts(db, WebhookDeliveryId.parse(waiting))).to.have.length(1);
    expect(await firstDeliveryEnd(db)).to.deep.equal(new Date(at));
  });

  it("finds what goes by an index, however long it is", async () => {
    await db.raw(
      `insert into webhook_delivery (id, webhook_id, project_id, action, status, body, position,
         attempts, created_at, finished_at)
       select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'TEST_WEBHOOK', 'SUCCESS', '',
         i, 1, now(), now() - i * interval '1 minute' from generate_series(1, 20000) i`,
    );
    await db.raw("analyze webhook_delivery");
    const id = randomUUID();
    for (const [which, value] of [
      ["project_id = ?", id],
      ["webhook_id = ?", id],
      ["finished_at < ?", new Date(Date.now() - 19_000 * 60_000)],
    ] as const) {
      const explained = await db.raw<{ rows: readonly Record<string, string>[] }>(
        `explain delete from webhook_delivery where ${which}`,
        [value],
      );
      const plan = explained.rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan, which)
        .to.match(/Index/)
        .and.not.match(/Seq Scan/);
    }
  });

  it("ends the same when delivered again, in parts, or from the start", async () => {
    const success = deliverySucceeded({ attempt: 2 });
    const events = log(deliveryScheduled(deliveryId), attemptFailed(), success);
    await project(db, webhookDeliveryProjection, events, context);
    const live = await rowsOf(db, webhookDeliveryProjection);

    for (const part of [events.slice(0, 1), events.slice(1), events]) {
      await project(db, webhookDeliveryProjection, part, context);
      expect(await rowsOf(db, webhookDeliveryProjection)).to.deep.equal(live);
    }
    await rewind(db, webhookDeliveryProjection);
    await project(db, webhookDeliveryProjection, events, context);
    expect(await rowsOf(db, webhookDeliveryProjection)).to.deep.equal(live);

    await reset(db, webhookDeliveryProjection);
    for (const event of events) await project(db, webhookDeliveryProjection, [event], context);
    expect(await rowsOf(db, webhookDeliveryProjection)).to.deep.equal(live);
  });
});
