import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { jsonAnswer } from "../../../src/http/core/answer.ts";
import { idempotency, type Keyed } from "../../../src/http/core/idempotency.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { basicAuth } from "../../support/app/basic-auth.ts";
import { eventually } from "../../support/app/eventually.ts";

const app = await startTestApp();
const { db, vault } = app.deps;
const once = idempotency(db, vault).once;

let anna: TestUser;
let bob: TestUser;
before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
});

const project = (alias: string) => ({ title: alias, alias, isPrivate: true });
const create = (key: string, alias: string, token = anna.token) =>
  app.post("/project", { token, body: project(alias), headers: { "idempotency-key": key } });

describe("a POST with an Idempotency-Key", () => {
  it("is done once and answered the same again", async () => {
    const first = await create("k1", "once");
    const head = await app.head();
    const second = await create("k1", "once");
    expect(first.status, first.text).to.equal(200);
    expect([second.status, second.text]).to.deep.equal([200, first.text]);
    expect(first.headers.get("idempotent-replayed")).to.equal(null);
    expect(second.headers.get("idempotent-replayed")).to.equal("true");
    expect(second.headers.get("content-type")).to.equal(first.headers.get("content-type"));
    expect(await app.head()).to.equal(head);
  });

  it("is done once without a token too, for each address", async () => {
    const body = { email: "new@example.org", password: "a long password", alias: "newcomer" };
    const headers = { "idempotency-key": "register-1" };
    const first = await app.post("/user/register", { body, headers });
    expect(first.status, first.text).to.equal(200);
    const head = await app.head();
    const again = await app.post("/user/register", { body, headers });
    expect([again.status, again.text]).to.deep.equal([200, first.text]);
    expect(again.headers.get("idempotent-replayed")).to.equal("true");
    const other = { ...body, alias: "other", email: "other@example.org" };
    const refused = await app.post("/user/register", { body: other, headers });
    expect([refused.status, refused.body["code"]]).to.deep.equal([422, "idempotency.key_reused"]);
    expect(await app.head()).to.equal(head);
    const rows = await db("public.idempotent_answer").select("body");
    for (const row of rows) expect(JSON.stringify(row)).not.to.contain("newcomer");
  });

  it("without one is done again", async () => {
    const body = project("again");
    expect((await app.post("/project", { token: anna.token, body })).status).to.equal(200);
    const again = await app.post("/project", { token: anna.token, body });
    expect(again.body["code"]).to.equal("alias.taken");
  });

  it("is refused with another body, path or query", async () => {
    await create("k2", "first");
    const other = await create("k2", "second");
    expect([other.status, other.body["code"]]).to.deep.equal([422, "idempotency.key_reused"]);
    const query = await app.post("/project?x=1", {
      token: anna.token,
      body: project("first"),
      headers: { "idempotency-key": "k2" },
    });
    expect(query.body["code"]).to.equal("idempotency.key_reused");
  });

  it("counts for its user and operation alone", async () => {
    const mine = await create("k3", "mine");
    const theirs = await create("k3", "mine", bob.token);
    expect([mine.status, theirs.status]).to.deep.equal([200, 200]);
    expect(theirs.body["id"]).not.to.equal(mine.body["id"]);
  });

  it("is answered with its refusal again, even when it would succeed by now", async () => {
    const keyed = {
      operationId: "x",
      key: "k4",
      request: ["a"],
      url: "/x",
      requestId: "first",
      repeatable: true,
    };
    const refuse = async () => {
      throw new Refusal("conflict", "thing.busy", "Not now.");
    };
    const first = await once({ ...keyed, callerId: anna.id }, refuse);
    const again = { ...keyed, callerId: anna.id, requestId: "second", repeatable: true };
    const second = await once(again, async () => jsonAnswer(200, {}));
    expect(first.status).to.equal(409);
    expect([second.status, second.body]).to.deep.equal([409, first.body]);
  });

  it("is refused with a key that is none", async () => {
    for (const key of ["with space", "x".repeat(256)]) {
      const answer = await create(key, "never");
      expect(answer.body["code"]).to.equal("idempotency.key_malformed");
    }
  });

  it("keeps what it answered sealed: a new token is not readable in the table", async () => {
    const authorization = basicAuth("anna", anna.password);
    const send = () =>
      app.post("/user/settings/access-token/create", {
        headers: { authorization, "idempotency-key": "k5" },
        body: { name: "secret one", scopes: ["USER_READ"] },
      });
    const first = await send();
    const token = String(first.body["token"]);
    expect((await send()).body["token"]).to.equal(token);
    const rows = await db("public.idempotent_answer").select("*");
    expect(rows).to.have.length.greaterThan(3);
    expect(JSON.stringify(rows)).not.to.contain(token);
    expect(rows.filter(({ body }) => body?.startsWith(`sealed.user-${anna.id}.`))).not.to.be.empty;
  });
});

describe("two requests with one key", () => {
  const keyed = (key: string): Keyed => ({
    callerId: anna.id,
    operationId: "test",
    key,
    request: ["same"],
    url: "/test",
    requestId: randomUUID(),
    repeatable: true,
  });

  it("at once are one: the second waits for the first and gets its answer", async () => {
    let runs = 0;
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const run = async (commandId: string) => {
      runs += 1;
      await held;
      return jsonAnswer(201, { commandId });
    };
    const answers = [1, 2, 3, 4].map(() => once(keyed("c1"), run));
    await eventually(() => runs === 1);
    letGo();
    const bodies = new Set((await Promise.all(answers)).map(({ body }) => body));
    expect([runs, bodies.size]).to.deep.equal([1, 1]);
  });

  it("over HTTP make one project", async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => create("c2", "racing")));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
  });

  it("are tried again after our own failure, as the same command", async () => {
    const commands: string[] = [];
    const fail = async (commandId: string) => {
      commands.push(commandId);
      throw new Refusal("unavailable", "projection.lagging", "Later.");
    };
    await expect(once(keyed("c3"), fail)).to.be.rejectedWith("Later.");
    const answer = await once(keyed("c3"), async (commandId) => {
      commands.push(commandId);
      return jsonAnswer(200, {});
    });
    expect(answer.status).to.equal(200);
    expect(commands[1]).to.equal(commands[0]);
  });

  it("outlive the process of the first: its lease runs out and its command goes on", async () => {
    const table = () => db("public.idempotent_answer");
    const before = new Set((await table().select("id")).map(({ id }) => id));
    const commands: string[] = [];
    let letGo = (): void => undefined;
    const dying = once(keyed("c4"), async (commandId) => {
      commands.push(commandId);
      await new Promise<void>((resolve) => {
        letGo = resolve;
      });
      return jsonAnswer(200, { from: "the dead" });
    });
    const row = await eventually(async () => {
      return (await table().select("*")).find(({ id }) => !before.has(id));
    });
    await table()
      .where({ id: row.id })
      .update({ lease_until: db.raw("now() - interval '1 s'") });

    const answer = await once(keyed("c4"), async (commandId) => {
      commands.push(commandId);
      return jsonAnswer(200, { from: "the living" });
    });
    expect(commands[1]).to.equal(commands[0]);
    letGo();
    await dying;
    const third = await once(keyed("c4"), async () => jsonAnswer(200, { from: "nobody" }));
    expect([answer.body, third.body]).to.deep.equal([answer.body, '{"from":"the living"}']);
  });

  it("a day apart are two", async () => {
    const commands: string[] = [];
    const run = async (commandId: string) => {
      commands.push(commandId);
      return jsonAnswer(200, { commandId });
    };
    await once(keyed("c5"), run);
    await db("public.idempotent_answer").update({
      created_at: db.raw("created_at - interval '25 hours'"),
    });
    const other = { ...keyed("c5"), request: ["another"] };
    await once(other, run);
    expect(new Set(commands).size).to.equal(2);

    await idempotency(db, vault).sweep();
    expect(await db("public.idempotent_answer").select("id")).to.have.length(1);
  });
});
