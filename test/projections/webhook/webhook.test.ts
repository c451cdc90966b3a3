import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { ProjectId, WebhookId } from "../../../src/events/core/ids.ts";
import { webhookStream } from "../../../src/events/webhook/webhook.ts";
import {
  findWebhook,
  listWebhooks,
  subscribedTo,
  subscribersIn,
  webhookProjection,
} from "../../../src/projections/webhook/webhook.ts";
import { at, history } from "../../support/app/history.ts";
import { context, project, reset, rewind, rowsOf } from "../../support/app/projection.ts";
import {
  projectId as anyProjectId,
  webhookId as anyWebhookId,
  switchedOff,
  switchedOn,
  webhookCreated,
  webhookDeleted,
  webhookReconfigured,
} from "../../support/client/webhook.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const projectId = ProjectId.parse(anyProjectId);
const webhookId = WebhookId.parse(anyWebhookId);
const otherProjectId = ProjectId.parse(randomUUID());

describe("the webhook read model", () => {
  beforeEach(() => reset(db, webhookProjection));

  const log = (...events: readonly AnyEvent[]) =>
    history(...events.map((event) => [webhookStream(webhookId), event] as const));
  const apply = (...events: readonly AnyEvent[]) =>
    project(db, webhookProjection, log(...events), context);

  it("shows a webhook in its own project only", async () => {
    await apply(webhookCreated());
    expect(await findWebhook(db, projectId, webhookId)).to.deep.include({
      url: "https://hooks.example.com/",
      secret: "sealed.project-1.AAAA",
      topics: ["BRANCH_CREATE", "TAG_CREATE"],
      switched_off_at: null,
      created_at: new Date(at),
      updated_at: new Date(at),
    });
    expect(await findWebhook(db, otherProjectId, webhookId)).to.equal(undefined);
    expect(await listWebhooks(db, otherProjectId, { limit: 10, offset: 0 })).to.deep.equal({
      rows: [],
      total: 0,
    });
  });

  it("shows the settings of today", async () => {
    await apply(webhookCreated(), webhookReconfigured());
    expect(await findWebhook(db, projectId, webhookId)).to.deep.include({
      url: "https://b.example.com/",
      secret: null,
      topics: ["MERGE"],
      created_at: new Date(at),
      updated_at: new Date("2026-01-03T00:00:00.000Z"),
    });
  });

  it("shows why it was switched off, until it is on again", async () => {
    await apply(webhookCreated(), switchedOff);
    expect(await findWebhook(db, projectId, webhookId)).to.deep.include({
      switched_off_at: new Date(at),
      failing_since: new Date("2025-12-28T00:00:00.000Z"),
    });
    await apply(webhookCreated(), switchedOff, switchedOn);
    expect(await findWebhook(db, projectId, webhookId)).to.deep.include({
      switched_off_at: null,
      failing_since: null,
    });
  });

  it("forgets a deleted one", async () => {
    await apply(webhookCreated(), webhookDeleted);
    expect(await findWebhook(db, projectId, webhookId)).to.equal(undefined);
  });

  it("lists a project's webhooks page by page, oldest first", async () => {
    const ids = Array.from({ length: 3 }, () => randomUUID());
    const events = ids.map((id, index) => {
      const createdAt = `2026-01-0${index + 1}T00:00:00.000Z`;
      return [webhookStream(id), webhookCreated({ webhookId: id, createdAt })] as const;
    });
    await project(db, webhookProjection, history(...events), context);
    const page = await listWebhooks(db, projectId, { limit: 2, offset: 1 });
    expect(page.rows.map(({ id }) => id)).to.deep.equal(ids.slice(1));
    expect(page.total).to.equal(3);
  });

  describe("selecting the subscribers of an event", () => {
    const heard = async (topic: "BRANCH_CREATE" | "MERGE", position: bigint) => {
      const webhooks = await subscribersIn(db, [projectId]);
      const rows = subscribedTo(webhooks, { projectId, topic, position });
      return rows.map(({ id }) => id);
    };

    it("names those subscribed to it when it happened", async () => {
      await apply(webhookCreated());
      expect(await heard("BRANCH_CREATE", 2n)).to.deep.equal([webhookId]);
      expect(await heard("MERGE", 2n)).to.deep.equal([]);
    });

    it("leaves out those that came later, and those switched off", async () => {
      await apply(webhookCreated());
      expect(await heard("BRANCH_CREATE", 1n)).to.deep.equal([]);
      expect(await heard("BRANCH_CREATE", 0n)).to.deep.equal([]);
      await apply(webhookCreated(), switchedOff);
      expect(await heard("BRANCH_CREATE", 3n)).to.deep.equal([]);
    });

    it("leaves out other projects'", async () => {
      await apply(webhookCreated({ projectId: otherProjectId }));
      expect(await heard("BRANCH_CREATE", 2n)).to.deep.equal([]);
    });
  });

  it("ends the same when delivered again, in parts, or from the start", async () => {
    const events = log(webhookCreated(), webhookReconfigured(), switchedOff, switchedOn);
    await project(db, webhookProjection, events, context);
    const live = await rowsOf(db, webhookProjection);

    for (const part of [events.slice(0, 1), events.slice(2), events]) {
      await project(db, webhookProjection, part, context);
      expect(await rowsOf(db, webhookProjection)).to.deep.equal(live);
    }
    await rewind(db, webhookProjection);
    await project(db, webhookProjection, events, context);
    expect(await rowsOf(db, webhookProjection)).to.deep.equal(live);

    await reset(db, webhookProjection);
    for (const event of events) await project(db, webhookProjection, [event], context);
    expect(await rowsOf(db, webhookProjection)).to.deep.equal(live);
  });
});
