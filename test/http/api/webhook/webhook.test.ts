import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { webhookTopics } from "../../../../src/events/webhook/webhook.ts";
import { startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
const search = await app.givenProject(anna, "search");
const tools = await app.givenProject(anna, "tools");
const foreign = await app.givenProject(boris, "foreign");

const at = (rest = "", project = search) =>
  `/project/${project.ownerAlias}/${project.alias}/setting/webhook${rest}`;
const { token } = anna;
const url = "https://hooks.example.com/in?x=1";

async function create(body: object = {}, project = search) {
  const sent = { url, secret: "s3cret", events: { TAG_CREATE: true }, ...body };
  return app.post(at("", project), { token, body: sent });
}

async function created(body: object = {}, project = search): Promise<string> {
  const answer = await create(body, project);
  expect(answer.status).to.equal(200);
  return String(answer.body["id"]);
}

const as = (body: object) => ({ token, body });

const flags = (...on: string[]) =>
  Object.fromEntries(webhookTopics.map((topic) => [topic, on.includes(topic)]));

describe("a project's webhooks", () => {
  it("are created with a part of the flags, and shown with all of them", async () => {
    const { status, body } = await create({ events: { TAG_CREATE: "true", MERGE: false } });
    expect(status).to.equal(200);
    expect(body).to.deep.include({
      url,
      secret: "s3cret",
      projectId: search.id,
      events: flags("TAG_CREATE"),
      active: true,
      switchedOffAt: null,
    });
    expect(body["createdAt"]).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect((await app.get(at(`/${body["id"]}`), { token })).body).to.deep.equal(body);
  });

  it("are listed page by page, those of this project only", async () => {
    const other = await created({}, tools);
    const own = [await created(), await created()];
    const all = await app.get(at("?size=200"), { token });
    const ids = (all.body["_embedded"] as { webhookList: { id: string }[] }).webhookList.map(
      ({ id }) => id,
    );
    expect(ids).to.include.members(own).and.not.include(other);
    const page = await app.get(at("?size=1&page=1"), { token });
    expect(page.body["page"]).to.include({ size: 1, number: 1, totalElements: ids.length });
    expect((page.body["_embedded"] as { webhookList: unknown[] }).webhookList).to.have.length(1);
  });

  it("are changed: what is given replaces, what is left out stays", async () => {
    const id = await created();
    const first = await app.post(at(`/${id}`), { token, body: { events: { MERGE: true } } });
    expect(first.status).to.equal(200);
    expect(first.body).to.deep.include({ url, secret: "s3cret", events: flags("MERGE") });

    const second = await app.post(at(`/${id}`), {
      token,
      body: { url: "http://b.example:8080/", secret: "" },
    });
    expect(second.body).to.deep.include({
      url: "http://b.example:8080/",
      secret: null,
      events: flags("MERGE"),
    });
    expect((await app.get(at(`/${id}`), { token })).body).to.deep.equal(second.body);
  });

  it("are deleted, and then are not there", async () => {
    const id = await created();
    expect((await app.post(at(`/${id}/delete`), { token })).status).to.equal(200);
    for (const path of [`/${id}`, `/${id}/delivery`]) {
      expect((await app.get(at(path), { token })).status).to.equal(404);
    }
    for (const path of [`/${id}`, `/${id}/delete`, `/${id}/test`]) {
      const answer = await app.post(at(path), { token, body: {} });
      expect(answer.status).to.equal(404);
      expect(answer.body["code"]).to.equal("webhook.not_found");
    }
  });

  it("are refused with an event that is not known, naming those that are", async () => {
    const id = await created();
    const before = await app.head();
    const events = { TAG_CREATE: true, TAG_CREATED: true };
    for (const answer of [await create({ events }), await app.post(at(`/${id}`), as({ events }))]) {
      expect(answer.status).to.equal(422);
      const [error] = answer.body["errors"] as { field: string; message: string }[];
      expect(error?.field).to.equal("events");
      expect(error?.message).to.contain("TAG_CREATED").and.to.contain(webhookTopics.join(", "));
    }
    expect(await app.head()).to.equal(before);
  });

  it("keep their secret out of the log", async () => {
    const secret = randomUUID();
    const id = await created({ secret });
    for await (const event of app.deps.store.readStream(`webhook-${id}`)) {
      expect(JSON.stringify(event.data)).not.to.include(secret);
    }
  });

  it("are made once, however often the same request comes", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const body = { url, events: { MERGE: true } };
    const first = await app.post(at("", tools), { token, body, headers });
    const second = await app.post(at("", tools), { token, body, headers });
    expect(second.body["id"]).to.equal(first.body["id"]);
  });
});

describe("a webhook's URL", () => {
  for (const [bad, code] of [
    ["http://169.254.169.254/latest/meta-data/", "url.address"],
    ["http://127.1", "url.address"],
    ["http://127.0.0.1:8080/", "url.address"],
    ["http://[::ffff:127.0.0.1]", "url.address"],
    ["http://[::1]/", "url.address"],
    ["http://2130706433/", "url.address"],
    ["http://0x7f000001/", "url.address"],
    ["http://localhost:3000/", "url.address"],
    ["http://10.0.0.1/", "url.address"],
    ["http://[fd00::1]/", "url.address"],
    ["http://user:pass@example.com/", "url.credentials"],
    ["http://example.com@127.0.0.1/", "url.credentials"],
    ["ftp://example.com/", "url.scheme"],
    ["file:///etc/passwd", "url.scheme"],
    ["http://example.com:0/", "url.port"],
    ["http://example.com:65536/", "url.malformed"],
    ["http://example.com\\@127.0.0.1/", "url.malformed"],
    ["not a url", "url.malformed"],
    ["", "error.field.empty"],
    [`http://example.com/${"a".repeat(2100)}`, "error.field.too_long"],
    [["https://example.com/"], "error.field.type"],
    [null, "error.field.empty"],
  ] as const) {
    it(`may not be ${JSON.stringify(bad).slice(0, 50)}`, async () => {
      const before = await app.head();
      const made = await create({ url: bad });
      expect(made.status).to.equal(422);
      expect(made.body["errors"]).to.deep.include.members([
        { ...(made.body["errors"] as object[])[0], field: "url", code },
      ]);
      expect(await app.head()).to.equal(before);
    });
  }

  it("is checked when it is changed, too", async () => {
    const id = await created();
    const body = { url: "http://169.254.169.254/" };
    expect((await app.post(at(`/${id}`), { token, body })).status).to.equal(422);
    expect((await app.get(at(`/${id}`), { token })).body["url"]).to.equal(url);
  });
});

describe("what else a webhook may not have", () => {
  for (const [what, body] of [
    ["a secret of two lines", { secret: "a\nwebhook-id: b" }],
    ["a secret that no header takes", { secret: "ключ" }],
    ["a secret of 300 characters", { secret: "a".repeat(300) }],
    ["flags that are no booleans", { events: { MERGE: "maybe" } }],
    ["a list of flags", { events: ["MERGE"] }],
  ] as const) {
    it(`is ${what}`, async () => {
      expect((await create(body)).status).to.equal(422);
    });
  }
});

describe("webhooks are the business of the project's administrators", () => {
  const id = "0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d";
  const reads = ["", `/${id}`, `/${id}/delivery`, `/${id}/delivery/${id}`];
  const writes = [
    "",
    `/${id}`,
    `/${id}/delete`,
    `/${id}/test`,
    `/${id}/replay`,
    `/${id}/delivery/${id}/redeliver`,
  ];

  for (const [method, paths] of [
    ["GET", reads],
    ["POST", writes],
  ] as const) {
    for (const path of paths) {
      it(`${method} ${path} is refused to others, and without the scope`, async () => {
        const reader = await app.givenToken(anna.id, ["PROJECT_READ", "PROJECT_WRITE"]);
        const body = method === "POST" ? { body: {} } : {};
        for (const [caller, code] of [
          [boris.token, undefined],
          [reader, "auth.scope_missing"],
          [undefined, "auth.token_invalid"],
        ] as const) {
          const answer = await app.send(method, at(path), {
            ...body,
            ...(caller !== undefined && { token: caller }),
          });
          expect(answer.status).to.equal(403);
          if (code !== undefined) expect(answer.body["code"]).to.equal(code);
        }
      });
    }
  }

  it("finds none of another project's, and changes nothing there", async () => {
    const own = await created({}, tools);
    const before = await app.head();
    for (const path of [`/${own}`, `/${own}/delivery`, `/${own}/delivery/${id}`]) {
      expect((await app.get(at(path), { token })).status, path).to.equal(404);
    }
    const replay = { from: "2026-01-01", to: "2026-01-02" };
    for (const path of [`/${own}`, `/${own}/delete`, `/${own}/test`, `/${own}/replay`]) {
      const answer = await app.post(at(path), { token, body: replay });
      expect(answer.status, path).to.equal(404);
    }
    const there = { token: boris.token, body: { url } };
    expect((await app.post(at(`/${own}`, foreign), there)).status).to.equal(404);
    expect(await app.head()).to.equal(before);
  });

  it("refuses to replay from a time before the year 0 or after 9999", async () => {
    const { body } = await app.post(at(), { token, body: { url } });
    for (const [from, to] of [
      ["0000-01-01T00:00:00+14:00", "2026-01-01"],
      ["2026-01-01", "9999-12-31T23:59:59-14:00"],
    ]) {
      const answer = await app.post(at(`/${body["id"]}/replay`), { token, body: { from, to } });
      expect(answer.status, answer.text).to.equal(422);
    }
    const replay = { from: "0001-01-01", to: "9999-12-31", events: ["MERGE"] };
    const answer = await app.post(at(`/${body["id"]}/replay`), { token, body: replay });
    expect(answer.status, answer.text).to.equal(200);
  });

  it("says what a replay takes where its times or events are wrong", async () => {
    const { body } = await app.post(at(), { token, body: { url } });
    const [from, to] = ["2026-01-01", "2026-01-02"];
    for (const [sent, field, message] of [
      [{ to }, "from", /^It is missing\.$/],
      [{ from: 7, to }, "from", /^Give a time with its zone/],
      [{ from: "2026-13-01", to }, "from", /^Give a time with its zone, such as .*, or a day/],
      [{ from, to: "2026-01-02T03:04:05" }, "to", /^Give a time with its zone/],
      [{ from, to, events: ["NONE"] }, "events", /known are .*TAG_CREATE/],
      [{ from, to, events: { NONE: true } }, "events", /known are .*TAG_CREATE/],
      [{ from, to, events: [] }, "events", /^Name an event, or leave `events` out\.$/],
      [{ from, to, events: { MERGE: false } }, "events", /^Name an event/],
    ] as const) {
      const answer = await app.post(at(`/${body["id"]}/replay`), { token, body: sent });
      expect(answer.status, answer.text).to.equal(422);
      const [first] = answer.body["errors"] as readonly Record<"field" | "message", string>[];
      expect(first?.field).to.equal(field);
      expect(first?.message).to.match(message);
    }
  });

  it("refuses a replay of a webhook that is subscribed to nothing, unless it names events", async () => {
    const { body } = await app.post(at(), { token, body: { url } });
    const order = { from: "2026-01-01", to: "2026-01-02" };
    const path = at(`/${body["id"]}/replay`);
    const answer = await app.post(path, { token, body: order });
    expect([answer.status, answer.body["code"]]).to.deep.equal([422, "webhook_replay.no_events"]);
    const named = await app.post(path, { token, body: { ...order, events: ["MERGE"] } });
    expect(named.status, named.text).to.equal(200);
  });

  for (const bad of ["x", "..", "%2e%2e", "1", `${id}x`, "%00"]) {
    it(`answers 404 for the id ${bad}`, async () => {
      expect((await app.get(at(`/${bad}`), { token })).status).to.equal(404);
    });
  }
});
