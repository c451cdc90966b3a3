import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { Limit } from "../../../../src/platform/limit.ts";
import { currentRun } from "../../../../src/platform/postgres/run.ts";
import { saveReactorPositions } from "../../../../src/services/core/reactor-checkpoint.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";

const app = await startTestApp();

let root: TestUser;
before(async () => {
  root = await app.givenUser("root", { admin: true });
});

async function scrape(): Promise<string> {
  const { status, text, headers } = await app.get("/metrics", {
    headers: { authorization: `Bearer ${root.token}` },
  });
  expect(status, text).to.equal(200);
  expect(headers.get("content-type")).to.match(/^text\/plain; version=0\.0\.4/);
  return text;
}

const sampleOf = (text: string, sample: string): number =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${sample} `))
      ?.split(" ")
      .at(-1) ?? 0,
  );

describe("metrics", () => {
  it("are for administrators", async () => {
    const anna = await app.givenUser("anna");
    expect((await app.get("/metrics")).body["code"]).to.equal("auth.token_invalid");
    const refused = await app.get("/metrics", { token: anna.token });
    expect([refused.status, refused.body["code"]]).to.deep.equal([403, "auth.admin_required"]);
  });

  it("watch the process from the first scrape on", async () => {
    const text = await scrape();
    // That of no samples would be three centuries.
    expect(sampleOf(text, "nodejs_eventloop_lag_min_seconds")).to.be.within(0.001, 10);
    expect(sampleOf(text, "process_start_time_seconds")).to.be.greaterThan(0);
  });

  it("need a token with the scope USER_READ, from the machine itself as from anywhere", async () => {
    const scraper = await app.givenToken(root.id, ["USER_READ"]);
    expect((await app.get("/metrics", { token: scraper })).status).to.equal(200);
    const other = await app.givenToken(root.id, ["PROJECT_READ"]);
    const refused = await app.get("/metrics", { token: other });
    expect([refused.status, refused.body["code"]]).to.deep.equal([403, "auth.scope_missing"]);
  });

  it("count requests by operation and status, and refusals by code", async () => {
    const { token } = await app.givenUser("nick");
    await app.get("/user/me", { token });
    await app.get("/user/me");
    await app.get("/no/such/path");
    const text = await scrape();
    const requests = (operation: string, status: number) =>
      sampleOf(
        text,
        `http_requests_total{method="GET",operation="${operation}",status="${status}"}`,
      );
    expect(requests("getOwnUser", 200)).to.equal(1);
    expect(requests("getOwnUser", 403)).to.equal(1);
    expect(sampleOf(text, 'http_refusals_total{code="auth.token_invalid"}')).to.be.greaterThan(0);
    expect(sampleOf(text, 'http_refusals_total{code="route.not_found"}')).to.equal(1);
    expect(text).to.contain(
      'http_request_duration_seconds_bucket{le="0.1",operation="getOwnUser"}',
    );
  });

  it("show what limits hold, who waits for them and who was refused", async () => {
    const limit = new Limit({ name: "test.metrics", total: 3, share: 1, whenFull: "wait" });
    const { leave } = await limit.enter({ caller: "anna" });
    const waiting = limit.enter({ caller: "anna" });
    expect(() => limit.take(1, { caller: "anna" })).to.throw("Too many");
    const text = await scrape();
    const of = (name: string) => sampleOf(text, `${name}{limit="test.metrics"}`);
    expect(
      ["limit_total", "limit_in_use", "limit_waiting", "limit_refused_total"].map(of),
    ).to.deep.equal([3, 1, 1, 1]);
    expect(sampleOf(text, 'limit_total{limit="as_of.answers"}')).to.equal(4);
    leave();
    (await waiting).leave();
  });

  it("do not grow with what callers make up", async () => {
    for (const path of ["/a", "/b", "/user/x", "/user/y?q=1"]) await app.get(path);
    await app.send("PROPFIND", "/a");
    const text = await scrape();
    expect(text).not.to.match(/\/a|\/user|PROPFIND/);
    expect(text).to.contain('method="other"');
  });

  it("show how far every read model is", async () => {
    const text = await scrape();
    for (const projection of ["user", "project", "access_token"]) {
      expect(sampleOf(text, `projection_live{projection="${projection}"}`)).to.equal(1);
      expect(text).to.contain(`projection_lag_positions{projection="${projection}"}`);
      expect(text).to.contain(`projection_lag_seconds{projection="${projection}"}`);
    }
  });

  it("show how far every reactor is, and how long what it did not come to has waited", async () => {
    const lag = (text: string, unit: string, reactor: string) =>
      sampleOf(text, `reactor_lag_${unit}{reactor="${reactor}"}`);
    // Nobody runs them here.
    const waiting = await scrape();
    expect(lag(waiting, "positions", "webhook-dispatch")).to.be.greaterThan(0);
    expect(lag(waiting, "seconds", "webhook-dispatch")).to.be.greaterThan(0);

    const head = (await app.head()) ?? 0n;
    const { db } = app.deps;
    const { id: runId } = await currentRun(db);
    await saveReactorPositions(db, new Map([["webhook-dispatch", head - 1n]]), runId);
    const behind = await scrape();
    expect(lag(behind, "positions", "webhook-dispatch")).to.equal(1);
    await saveReactorPositions(db, new Map([["webhook-dispatch", head]]), runId);
    const text = await scrape();
    expect(text).to.contain('reactor_lag_positions{reactor="webhook-dispatch"} 0');
    expect(text).to.contain('reactor_lag_seconds{reactor="webhook-dispatch"} 0');
    expect(lag(text, "positions", "mail-outbox")).to.equal(
      lag(waiting, "positions", "mail-outbox"),
    );
  });

  it("show lines of webhooks in which nothing moves, and since when", async () => {
    const { db } = app.deps;
    const line = { webhook_id: randomUUID(), position: 1 };
    const due = (secondsAgo: number) => new Date(Date.now() - secondsAgo * 1000);
    const rows = [30, 20, 0].map((ago) => ({
      ...line,
      delivery_id: randomUUID(),
      due_at: due(ago),
    }));
    await db("webhook_outbox").insert(rows);
    const stalled = await scrape();
    expect(sampleOf(stalled, "webhook_lines_standing")).to.equal(1);
    expect(sampleOf(stalled, "webhook_line_standing_seconds")).to.be.within(30, 60);
    await db("webhook_outbox").delete();
    const moving = await scrape();
    expect(sampleOf(moving, "webhook_lines_standing")).to.equal(0);
    expect(sampleOf(moving, "webhook_line_standing_seconds")).to.equal(0);
  });
});
