import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect } from "chai";
import { FeedHub } from "../../../../src/http/api/feed/hub.ts";
import { FeedStream } from "../../../../src/http/api/feed/reader.ts";
import { type ServedEvent, withoutTexts } from "../../../../src/http/api/feed/served-event.ts";
import { itemsAfter, newestPosition } from "../../../../src/http/api/feed/source.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { events, givenFeed, parsed, project } from "../../../support/project/feed.ts";

const given = await givenFeed();
const { app, rename } = given;

/** A connection that takes what is sent only while it is not held. */
class HeldConnection extends Duplex {
  text = "";
  isHeld = false;
  #go: () => void = () => undefined;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += String(chunk);
    if (this.isHeld) this.#go = done;
    else done();
  }

  release(): void {
    this.isHeld = false;
    this.#go();
  }
}

describe("the feed as server-sent events", () => {
  it("cuts a reader off who falls behind what is kept, with a last event to go on from", async () => {
    const { db, log, store } = app.platform;
    const { onChange, onPosition, now } = app.deps;
    const hub = new FeedHub({ db, store, log, onChange, onPosition, now }, { keptItemsMax: 3 });
    const start = await newestPosition(db);
    const reading = { hub, deps: { db, store }, filter: {}, after: start, callerId: given.anna.id };
    const stream = new FeedStream({ ...reading, mustStillMay: async () => undefined });
    await stream.open();
    const chunks: string[] = [];
    stream.on("data", (chunk) => chunks.push(String(chunk)));
    await rename("seen");
    await eventually(() => expect(chunks.join("")).to.include("seen"));

    stream.pause();
    const description = "x".repeat(4_000);
    for (let n = 0; n < 16; n += 1) {
      const body = { title: `large ${n}`, description };
      const at = `${project}/setting/change-setting`;
      expect((await app.put(at, { token: given.anna.token, body })).status).to.equal(200);
    }
    const newest = await newestPosition(db);
    await eventually(() => expect(hub.upTo).to.equal(newest));
    expect(stream.readableLength).to.be.below(64 * 1024);
    const ended = new Promise((resolve) => stream.once("end", resolve));
    stream.resume();
    await ended;

    const blocks = chunks
      .join("")
      .split("\n\n")
      .filter((block) => block.startsWith("id:"));
    const end = parsed(blocks.pop() ?? "");
    expect([end.event, JSON.parse(end.data).code]).to.deep.equal(["end", "feed.too_slow"]);
    expect(BigInt(end.id) < newest).to.equal(true);
    const range = { after: start, upTo: BigInt(end.id), limit: 100, bytesMax: 1024 ** 2 };
    const { items } = await itemsAfter({ db, store }, {}, range);
    expect(blocks).to.deep.equal(items.map(({ text }) => text.trimEnd()));
    const few = await itemsAfter({ db, store }, {}, { ...range, bytesMax: 1 });
    expect([few.items.length, few.isWhole], "ends by bytes").to.deep.equal([1, false]);
  });
});

describe("the feed on a connection", () => {
  it("is written straight to it, in order, and waits for one that takes nothing", async () => {
    const { db, log, store } = app.platform;
    const { onChange, onPosition, now } = app.deps;
    const hub = new FeedHub({ db, store, log, onChange, onPosition, now });
    const start = await newestPosition(db);
    const reading = { hub, deps: { db, store }, filter: {}, after: start, callerId: given.anna.id };
    const stream = new FeedStream({ ...reading, mustStillMay: async () => undefined });
    await stream.open();
    const connection = new HeldConnection();
    const socket = connection as unknown as Socket;
    const response = new ServerResponse(new IncomingMessage(socket));
    response.removeHeader("Transfer-Encoding");
    response.assignSocket(socket);
    stream.pipe(response);
    await eventually(() => expect(connection.text).to.include("retry: 2000"));
    let throughStreams = 0;
    stream.on("data", () => {
      throughStreams += 1;
    });

    await rename("straight");
    await eventually(() => expect(connection.text).to.include("straight"));
    connection.isHeld = true;
    const description = "x".repeat(4_000);
    for (let n = 0; n < 16; n += 1) {
      const at = `${project}/setting/change-setting`;
      await app.put(at, { token: given.anna.token, body: { title: `large ${n}`, description } });
    }
    const newest = await newestPosition(db);
    await eventually(() => expect(hub.upTo).to.equal(newest));
    expect(connection.writableLength).to.be.below(32 * 1024);
    connection.release();
    // Not with the next beat, which comes some time or other.
    await new Promise((resolve) => setImmediate(resolve));
    expect(connection.text).to.include(`id: ${newest}\n`);
    stream.end();
    await eventually(() => expect(connection.text).to.include("event: end"));

    expect(throughStreams, "the last event alone").to.equal(1);
    const blocks = connection.text.split("\n\n").filter((block) => block.startsWith("id:"));
    const range = { after: start, upTo: newest, limit: 100, bytesMax: 1024 ** 2 };
    const { items } = await itemsAfter({ db, store }, {}, range);
    expect(blocks.slice(0, -1)).to.deep.equal(items.map(({ text }) => text.trimEnd()));
    stream.destroy();
  });
});

describe("the feed page by page", () => {
  it("serves what its schema says, and nothing that is sealed", async () => {
    const schema = await app.get("/events/schema.json");
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    const validate = ajv.compile(JSON.parse(schema.text));
    const page = await app.get("/events?size=200", { token: given.root.token });
    const full = events(page) as readonly object[] as readonly ServedEvent[];
    for (const event of [...full, ...full.map(withoutTexts)]) {
      expect(validate(event), `${event.type}: ${ajv.errorsText(validate.errors)}`).to.equal(true);
    }
    expect(page.text).not.to.match(/sealed\.|example\.org/);
  });
});
