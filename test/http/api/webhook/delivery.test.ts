import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { handle } from "../../../../src/commands/core/handle.ts";
import { webhookDelivery } from "../../../../src/commands/webhook/delivery.ts";
import { webhook } from "../../../../src/commands/webhook/webhook.ts";
import { withinRunningLimit } from "../../../../src/http/api/webhook/replay-limit.ts";
import { asCaller } from "../../../../src/platform/caller.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { metadataFor } from "../../../support/app/history.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const { token } = anna;
const subject = `project-${search.id}`;
const base = `/project/anna/search/setting/webhook`;

async function givenWebhook(): Promise<string> {
  const body = { url: "https://hooks.example.com/", secret: "s3cret", events: { MERGE: true } };
  return String((await app.post(base, { token, body })).body["id"]);
}

async function givenTest(id: string): Promise<string> {
  const answer = await app.post(`${base}/${id}/test`, { token });
  expect(answer.status).to.equal(200);
  return String(answer.body["id"]);
}

/** As the worker records it. */
async function attempted(deliveryId: string, attempt: number, status: number | null) {
  const { store, vault, visible } = app.deps;
  const answer = { headers: { "x-answer": "yes" }, body: "said no", bodyTruncated: false };
  const response = status === null ? null : await vault.seal(subject, JSON.stringify(answer));
  const failure = status === null ? "timeout" : null;
  const now = new Date().toISOString();
  const times = { startedAt: now, connectMs: 1, firstByteMs: 2, totalMs: 3 };
  const facts = { attempt, url: "https://hooks.example.com/", status, response, failure };
  const command = { ...facts, ...times, retryAfterMs: null, jitter: 0, at: now } as const;
  const { position } = await handle(store, webhookDelivery, {
    id: deliveryId,
    command: { type: "RecordAttempt", ...command },
    metadata: metadataFor(randomUUID()),
  });
  await visible(position);
}

async function switchOff(id: string): Promise<void> {
  const at = new Date().toISOString();
  const command = { type: "SwitchOffWebhook", failingSince: at, at } as const;
  const metadata = metadataFor(randomUUID());
  const { position } = await handle(app.deps.store, webhook, { id, command, metadata });
  await app.deps.visible(position);
}

describe("testing a webhook", () => {
  it("schedules a delivery of action and project only, shown at once", async () => {
    const id = await givenWebhook();
    const deliveryId = await givenTest(id);
    const { status, body } = await app.get(`${base}/${id}/delivery/${deliveryId}`, { token });
    expect(status).to.equal(200);
    expect(body).to.deep.include({
      id: deliveryId,
      webhookId: id,
      event: "TEST_WEBHOOK",
      status: "PENDING",
      attempts: 0,
      responseStatus: null,
      redeliveryOf: null,
      request: { body: { action: "TEST_WEBHOOK", project_id: search.id } },
      attemptList: [],
    });
  });
});

describe("the log of deliveries", () => {
  it("shows each attempt with the receiver's answer", async () => {
    const id = await givenWebhook();
    const deliveryId = await givenTest(id);
    await attempted(deliveryId, 1, 500);
    await attempted(deliveryId, 2, null);
    await attempted(deliveryId, 3, 204);

    const { body } = await app.get(`${base}/${id}/delivery/${deliveryId}`, { token });
    expect(body).to.include({ status: "SUCCESS", attempts: 3, responseStatus: 204, failure: null });
    const attempts = body["attemptList"] as Record<string, unknown>[];
    expect(
      attempts.map(({ attempt, status, failure }) => [attempt, status, failure]),
    ).to.deep.equal([
      [1, 500, "status"],
      [2, null, "timeout"],
      [3, 204, null],
    ]);
    expect(attempts[0]).to.deep.include({ connectMs: 1, firstByteMs: 2, totalMs: 3 });
    expect(attempts[0]?.["response"]).to.deep.equal({
      headers: { "x-answer": "yes" },
      body: "said no",
      bodyTruncated: false,
    });
    expect(attempts[1]?.["response"]).to.equal(null);
  });

  it("lists deliveries newest first, with how the last attempt went", async () => {
    const id = await givenWebhook();
    const first = await givenTest(id);
    const second = await givenTest(id);
    await attempted(first, 1, 503);
    const { body } = await app.get(`${base}/${id}/delivery`, { token });
    const list = (body["_embedded"] as { webhookDeliveryList: Record<string, unknown>[] })
      .webhookDeliveryList;
    expect(list.map((each) => each["id"])).to.deep.equal([second, first]);
    expect(list[1]).to.include({ status: "PENDING", responseStatus: 503, failure: "status" });
    expect(list[1]?.["nextAttemptAt"]).to.be.a("string");
    expect(body["page"]).to.include({ totalElements: 2 });
  });

  it("has nothing of another webhook's", async () => {
    const id = await givenWebhook();
    const other = await givenTest(await givenWebhook());
    const head = await app.head();
    expect((await app.get(`${base}/${id}/delivery/${other}`, { token })).status).to.equal(404);
    const redeliver = `${base}/${id}/delivery/${other}/redeliver`;
    expect((await app.post(redeliver, { token })).status).to.equal(404);
    expect(await app.head()).to.equal(head);
  });
});

describe("redelivering", () => {
  it("makes a new delivery of the same body, and leaves the old one as it is", async () => {
    const id = await givenWebhook();
    const old = await givenTest(id);
    await attempted(old, 1, 410);
    const answer = await app.post(`${base}/${id}/delivery/${old}/redeliver`, { token });
    expect(answer.status).to.equal(200);
    expect(answer.body).to.include({ status: "PENDING", redeliveryOf: old, event: "TEST_WEBHOOK" });
    expect(answer.body["id"]).not.to.equal(old);

    const shown = async (delivery: unknown) =>
      (await app.get(`${base}/${id}/delivery/${delivery}`, { token })).body;
    expect((await shown(answer.body["id"]))["request"]).to.deep.equal(
      (await shown(old))["request"],
    );
    expect((await shown(old))["status"]).to.equal("FAILED");
  });
});

describe("a webhook that was switched off", () => {
  it("is shown as inactive, may be tried, and is on again once changed", async () => {
    const id = await givenWebhook();
    const delivery = await givenTest(id);
    await switchOff(id);
    const shown = await app.get(`${base}/${id}`, { token });
    expect(shown.body["active"]).to.equal(false);
    expect(shown.body["switchedOffAt"]).to.be.a("string");
    expect(shown.body["failingSince"]).to.be.a("string");

    await givenTest(id);
    const redeliver = await app.post(`${base}/${id}/delivery/${delivery}/redeliver`, { token });
    expect(redeliver.status).to.equal(422);
    expect(redeliver.body["code"]).to.equal("webhook.switched_off");

    const changed = await app.post(`${base}/${id}`, { token, body: {} });
    expect(changed.body).to.include({ active: true, switchedOffAt: null, failingSince: null });
  });
});

describe("replaying history", () => {
  const requested = async (id: string) => {
    const events: Record<string, unknown>[] = [];
    for await (const event of app.deps.store.readStream(`webhook-${id}`)) {
      if (event.type === "WebhookReplayRequested") events.push(event.data);
    }
    return events;
  };

  for (const [what, events, topics] of [
    ["what the webhook hears", undefined, ["MERGE"]],
    ["a list of events", ["TAG_CREATE"], ["TAG_CREATE"]],
    ["flags", { BRANCH_CREATE: true, MERGE: false }, ["BRANCH_CREATE"]],
  ] as const) {
    it(`is requested with ${what}`, async () => {
      const id = await givenWebhook();
      const body = { from: "2026-01-01", to: "2026-01-02T03:00:00+03:00", events };
      const answer = await app.post(`${base}/${id}/replay`, { token, body });
      expect(answer.status).to.equal(200);
      const [event] = await requested(id);
      expect(event).to.deep.include({
        replayId: answer.body["replayId"],
        from: "2026-01-01T00:00:00.000Z",
        to: "2026-01-02T00:00:00.000Z",
        topics,
      });
    });
  }

  for (const [what, body] of [
    ["nothing", {}],
    ["an end before the start", { from: "2026-01-02", to: "2026-01-01" }],
    ["no time at all", { from: "2026-01-01", to: "2026-01-01" }],
    ["words for times", { from: "yesterday", to: "today" }],
    ["events that do not exist", { from: "2026-01-01", to: "2026-01-02", events: ["NOTHING"] }],
  ] as const) {
    it(`is refused with ${what}`, async () => {
      const id = await givenWebhook();
      expect((await app.post(`${base}/${id}/replay`, { token, body })).status).to.equal(422);
      expect(await requested(id)).to.deep.equal([]);
    });
  }

  it("runs five times at once in a project, over all of its webhooks", async () => {
    const owner = await app.givenUser("carla");
    await app.givenProject(owner, "crowded");
    const hooks = "/project/carla/crowded/setting/webhook";
    const as = { token: owner.token };
    const ids: string[] = [];
    for (const url of ["https://hooks.example.com/a", "https://hooks.example.com/b"]) {
      const made = await app.post(hooks, { ...as, body: { url, events: { MERGE: true } } });
      ids.push(String(made.body["id"]));
    }
    const replay = (n: number, headers = {}) =>
      app.post(`${hooks}/${ids[n % 2]}/replay`, {
        ...as,
        headers,
        body: { from: "2026-01-01", to: "2026-01-02" },
      });
    const running: unknown[] = [];
    for (let n = 0; n < 3; n += 1) running.push((await replay(n)).body["replayId"]);
    const atOnce = await Promise.all([3, 4, 5, 6].map((n) => replay(n)));
    const refused = atOnce.filter(({ status }) => status !== 200);
    expect(refused.map(({ status, body }) => [status, body["code"]])).to.deep.equal([
      [409, "webhook_replay.too_many_running"],
      [409, "webhook_replay.too_many_running"],
    ]);
    const canceled = await app.post(`${hooks}/${ids[0]}/replay/${running[0]}/cancel`, as);
    expect(canceled.status, canceled.text).to.equal(200);
    expect((await replay(5)).status).to.equal(200);
  });

  it("does not let requests of one project hold up those of others", async () => {
    const [projectId, other] = [randomUUID(), randomUUID()];
    let free = (): void => undefined;
    const freed = new Promise<void>((resolve) => {
      free = resolve;
    });
    const send = (caller: string, id: string, append: () => Promise<void>) =>
      asCaller(caller, () =>
        withinRunningLimit({ projectId: id, replayId: randomUUID() }, app.deps, append),
      );
    const waiting = ["one", "two", "three"].map((caller) => send(caller, projectId, () => freed));
    await send("four", other, () => Promise.resolve());
    free();
    await Promise.all(waiting);
  });
});
