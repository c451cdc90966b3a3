import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { repositoryStream } from "../../../../src/events/repository/repository.ts";
import { FeedHub, fitsFilter } from "../../../../src/http/api/feed/hub.ts";
import { FeedStream } from "../../../../src/http/api/feed/reader.ts";
import { itemsAfter, newestPosition } from "../../../../src/http/api/feed/source.ts";
import { findProjectById } from "../../../../src/projections/project/project.ts";
import type { Answer } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { metadataFor } from "../../../support/app/history.ts";
import {
  events,
  givenFeed,
  parsed,
  project,
  type Sent,
  type Served,
} from "../../../support/project/feed.ts";

const given = await givenFeed();
const { app, rename } = given;

const after = ({ body }: Answer) => (body["page"] as { after: string }).after;

/** Follows the feed, and keeps what came. */
async function follow(path: string, token: string, headers: Record<string, string> = {}) {
  const stop = new AbortController();
  const response = await fetch(app.url + path, {
    headers: { authorization: `token ${token}`, accept: "text/event-stream", ...headers },
    signal: stop.signal,
  });
  expect(response.status).to.equal(200);
  const sent: Sent[] = [];
  const state = { ended: false };
  const read = async (): Promise<void> => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      sent.push(...blocks.filter((block) => block.startsWith("id:")).map(parsed));
    }
  };
  void read()
    .catch(() => undefined)
    .then(() => {
      state.ended = true;
    });
  return { sent, state, headers: response.headers, stop: () => stop.abort() };
}

const typesOf = (sent: readonly Sent[]) => sent.map(({ event }) => event);

describe("the feed as server-sent events", () => {
  it("sends what happens from now on, and goes on after Last-Event-ID without loss", async () => {
    const first = await follow("/events?type=ProjectDetailsChanged", given.root.token);
    for (const title of ["one", "two", "three"]) await rename(title);
    await eventually(() => expect(first.sent).to.have.length(3));
    first.stop();
    for (const title of ["four", "five"]) await rename(title);

    const lastEventId = { "last-event-id": first.sent[1]?.id ?? "" };
    const second = await follow(
      "/events?type=ProjectDetailsChanged",
      given.root.token,
      lastEventId,
    );
    await eventually(() => expect(second.sent).to.have.length(3));
    // Every event to every reader would need a frame of its own.
    expect(second.headers.get("transfer-encoding")).to.equal(null);
    await rename("six");
    await eventually(() => expect(second.sent).to.have.length(4));
    const titles = second.sent.map(({ data }) => JSON.parse(data).data.details.title);
    expect(titles).to.deep.equal(["three", "four", "five", "six"]);
    second.stop();
  });

  it("rejects a Last-Event-ID that is no position, or that lies ahead", async () => {
    for (const id of ["x", "-1", "9999999999"]) {
      const headers = { "last-event-id": id };
      expect((await app.get("/events", { token: given.root.token, headers })).status).to.equal(422);
    }
    const headers = { accept: "text/event-stream" };
    const ahead = await app.get("/events?after=9999999999", { token: given.root.token, headers });
    expect([ahead.status, ahead.body["message"]]).to.deep.equal([
      422,
      "after: The feed has no such position. Give the id of an event that it sent.",
    ]);
  });

  it("serves members their project alone, and only ADMINs of its secrets' places", async () => {
    const { token } = given.anna;
    const invited = { userAlias: "bob", role: "GUEST" };
    await app.post(`${project}/member/invite`, { token, body: invited });
    const ofAnna = await follow(`${project}/events`, given.anna.token);
    const ofBob = await follow(`${project}/events`, given.bob.token);
    await app.givenProject(given.anna, "other");
    const webhook = { url: "https://hooks.example.net/hook?key=1", secret: "s", events: {} };
    const made = await app.post(`${project}/setting/webhook`, { token, body: webhook });
    expect(made.status, made.text).to.equal(200);
    await rename("seven");

    await eventually(() => expect(typesOf(ofAnna.sent)).to.include("ProjectDetailsChanged"));
    await eventually(() => expect(typesOf(ofBob.sent)).to.include("ProjectDetailsChanged"));
    expect(typesOf(ofAnna.sent)).to.deep.equal(["WebhookCreated", "ProjectDetailsChanged"]);
    expect(typesOf(ofBob.sent)).to.deep.equal(["ProjectDetailsChanged"]);
    expect(ofAnna.sent[1]?.data, "an ADMIN gets texts").to.include("seven");
    expect(ofBob.sent[0]?.data, "a GUEST gets none").not.to.match(/seven|details|previous/);
    const pageOfBob = await app.get(`${project}/events?size=200`, { token: given.bob.token });
    expect(pageOfBob.text).to.include("ProjectDetailsChanged").and.not.include("seven");
    expect(ofAnna.sent[0]?.data).not.to.match(/sealed|"secret"/);
    ofAnna.stop();

    await app.delete(`${project}/member/bob`, { token });
    await eventually(async () => {
      await rename(String(Math.random()));
      return ofBob.state.ended;
    });
    const end = ofBob.sent.at(-1);
    expect([end?.event, JSON.parse(end?.data ?? "{}").code]).to.deep.equal([
      ...["end", "auth.role_missing"],
    ]);
  });

  it("reads a role once for all streams of a caller", async () => {
    const { db, log, store } = app.platform;
    const { onChange, onPosition, now } = app.deps;
    const hub = new FeedHub({ db, store, log, onChange, onPosition, now });
    const found = await findProjectById(db, given.forge.id);
    const queries: string[] = [];
    const note = ({ sql }: Readonly<{ sql: string }>) => queries.push(sql);
    db.on("query", note);
    const roles = await Promise.all([1, 2, 3].map(() => hub.roleIn(found!, given.bob.id)));
    db.off("query", note);
    expect(roles).to.deep.equal([undefined, undefined, undefined]);
    expect(queries.filter((sql) => sql.includes('"member'))).to.have.length(1);
  });
});

describe("the feed of a token that expires", () => {
  it("ends when the token does, without a change of rights or a beat", async () => {
    const { db, log, store } = app.platform;
    const { onChange, onPosition } = app.deps;
    let time = 1_000;
    const now = () => new Date(time);
    const hub = new FeedHub({ db, store, log, onChange, onPosition, now });
    const start = await newestPosition(db);
    const reading = { hub, deps: { db, store }, filter: {}, after: start, callerId: given.anna.id };
    const mustStillMay = async () => undefined;
    const expiring = new FeedStream({ ...reading, mustStillMay, expiresAt: new Date(2_000) });
    const endless = new FeedStream({ ...reading, mustStillMay });
    const texts = [expiring, endless].map((stream) => {
      const chunks: string[] = [];
      stream.on("data", (chunk) => chunks.push(String(chunk)));
      return () => chunks.join("");
    });
    for (const stream of [expiring, endless]) await stream.open();
    await rename("before its end");
    for (const text of texts) await eventually(() => expect(text()).to.include("before its end"));
    time = 2_001;
    await eventually(() => expect(texts[0]?.()).to.include("event: end"));
    expect(texts[0]?.()).to.include('"code":"auth.token_invalid"');
    await rename("after its end");
    await eventually(() => expect(texts[1]?.()).to.include("after its end"));
    expect(texts[0]?.()).not.to.include("after its end");
    endless.destroy();
  });

  it("ends at that time for every caller, also between two checks of their rights", async () => {
    const admins = ["carl", "dora", "emil"].map((alias) => app.givenUser(alias, { admin: true }));
    const people = await Promise.all(admins);
    const expiresAt = new Date(Date.now() + 3_000);
    const feeds = await Promise.all(
      people.map(async ({ id }) => {
        const token = await app.givenToken(id, ["USER_WRITE"], expiresAt.toISOString());
        return follow("/events", token);
      }),
    );
    const untilMs = expiresAt.getTime() - Date.now() + 5_000;
    await eventually(() => feeds.every(({ state }) => state.ended), untilMs);
    for (const { sent } of feeds) {
      const end = sent.at(-1);
      const { code } = JSON.parse(end?.data ?? "{}");
      expect([end?.event, code]).to.deep.equal(["end", "auth.token_invalid"]);
    }
  });
});

describe("the feed page by page", () => {
  it("has every event once, oldest first, the same as the stream", async () => {
    const token = given.root.token;
    const seen: Served[] = [];
    for (let at = "0"; ; ) {
      const page = await app.get(`/events?size=50&after=${at}`, { token });
      if (events(page).length === 0) break;
      seen.push(...events(page));
      at = after(page);
    }
    const all: string[] = [];
    for await (const { type } of app.platform.store.readAll()) all.push(type);
    expect(seen.map(({ type }) => type)).to.deep.equal(all);

    const stream = await follow("/events", token, { "last-event-id": "0" });
    await eventually(() => expect(stream.sent).to.have.length(all.length));
    expect(stream.sent.map(({ data }) => JSON.parse(data))).to.deep.equal(seen);
    stream.stop();
  });

  it("filters by type and thing", async () => {
    const at = `${project}/events?type=ProjectCreated,IssueCreated`;
    expect(events(await app.get(at, { token: given.anna.token }))).to.have.length(1);
    const thing = `${project}/events?subject=${given.forge.id}&size=1`;
    const [event] = events(await app.get(thing, { token: given.anna.token }));
    expect(event?.type).to.equal("ProjectCreated");
  });

  it("filters by long names of branches, of what was stored and of what comes", async () => {
    const branch = `long/${"x".repeat(300)}`;
    const metadata = metadataFor(randomUUID());
    const data = { branch, commitId: "0".repeat(40), changedById: given.anna.id };
    const created = { ...data, changedAt: metadata.occurredAt };
    const { position } = await app.deps.store.append(repositoryStream(given.forge.id), "any", [
      { id: metadata.commandId, type: "BranchCreated", data: created, metadata },
    ]);
    await app.deps.visible(position);
    const range = { after: position - 1n, limit: 10, bytesMax: 1024 ** 2 };
    const { items } = await itemsAfter(app.deps, { subjectId: branch }, range);
    expect(items.map(({ type }) => type)).to.deep.equal(["BranchCreated"]);
    expect(items.filter(fitsFilter({ subjectId: branch }))).to.deep.equal(items);
    expect(items.filter(fitsFilter({ subjectId: "main" }))).to.deep.equal([]);
  });
});
