import { randomUUID } from "node:crypto";
import { EventStoreDBClient } from "@eventstore/db-client";
import { expect } from "chai";

import {
  RevisionConflict,
  type SubscriptionItem,
} from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { eventually } from "../../support/app/eventually.ts";
import { isRealServer, testEventStore } from "../../support/store/event-store.ts";
import { collect, newEvent, newStream } from "../../support/store/test-event.ts";

const { store, url } = await testEventStore();
const events = (count: number) => Array.from({ length: count }, (_, n) => newEvent(n));

/** Ends the subscriptions of a test, also of one that failed. */
let stopping: AbortController;
beforeEach(() => {
  stopping = new AbortController();
});
afterEach(() => stopping.abort());

for (const pages of [true, false]) {
  describe(`the port to the event store, ${pages ? "in pages where the server gives them" : "by the calls of EventStoreDB alone"}`, () => {
    const store = openEventStore(url, { pages });
    after(() => store.close());

    it("appends and reads back what was appended", async () => {
      const stream = newStream();
      const [first, second] = [newEvent(1), newEvent(2)];
      const { position, revision } = await store.append(stream, "none", [first, second]);
      expect(revision).to.equal(1n);

      const read = await collect(store.readStream(stream));
      expect(read).to.have.length(2);
      expect(read[1]).to.deep.include({ ...second, stream, revision: 1n, position });
      expect(read[0]!.position < position).to.equal(true);
      expect(Math.abs(read[0]!.recordedAt.getTime() - Date.now())).to.be.below(60_000);
    });

    it("reports a conflict when another writer was first", async () => {
      const stream = newStream();
      await store.append(stream, "none", events(2));
      for (const expected of ["none", 0n, 2n] as const) {
        const appending = store.append(stream, expected, events(1));
        await expect(appending).to.be.rejectedWith(RevisionConflict, stream);
      }
      await store.append(stream, "any", events(1));
      await store.append(stream, 2n, events(1));
      expect(await collect(store.readStream(stream))).to.have.length(4);
    });

    it("answers a repeated append as the first time", async () => {
      const stream = newStream();
      const same = events(3);
      const first = await store.append(stream, "none", same);
      await store.append(stream, first.revision, events(1));
      expect(await store.append(stream, "none", same)).to.deep.equal(first);
      expect(await collect(store.readStream(stream))).to.have.length(4);
    });

    it("reads a stream from a revision, and backwards, and nothing where there is none", async () => {
      const stream = newStream();
      await store.append(stream, "none", events(5));
      const revisions = async (reading: ReturnType<typeof store.readStream>) =>
        (await collect(reading)).map(({ revision }) => revision);
      expect(await revisions(store.readStream(stream, 3n))).to.deep.equal([3n, 4n]);
      expect(await revisions(store.readStreamBackwards(stream, 2))).to.deep.equal([4n, 3n]);
      expect(await revisions(store.readStreamBackwards(stream))).to.have.length(5);
      expect(await revisions(store.readStream(newStream()))).to.deep.equal([]);
      expect(await revisions(store.readStreamBackwards(newStream(), 1))).to.deep.equal([]);
    });

    it("reads the log after a position, system events left out", async () => {
      const stream = newStream();
      const { position } = await store.append(stream, "none", events(1));
      await store.append(stream, 0n, events(4));
      await systemEvent();
      const after = await collect(store.readAll({ after: position }));
      expect(after.filter((event) => event.stream === stream)).to.have.length(4);
      expect(after.every(({ type }) => !type.startsWith("$"))).to.equal(true);
      expect(after.every((event) => event.position > position)).to.equal(true);
      expect(await collect(store.readAll({ after: position, countMax: 2 }))).to.have.length(2);
      expect(await collect(store.readAll({ countMax: 0 }))).to.deep.equal([]);
    });

    it("knows the newest event that is not the system's", async () => {
      const { position } = await store.append(newStream(), "none", events(2));
      await systemEvent();
      expect((await store.head())! >= position).to.equal(true);
      for await (const event of store.readAll({ after: position })) {
        expect.fail(`a shared log has ${event.type} after the head`);
      }
      expect(await store.head()).to.equal(position);
    });

    it("answers a ping", async () => {
      await store.ping(60_000);
    });

    it("stops reading when the reader stops", async () => {
      const stream = newStream();
      await store.append(stream, "none", events(600));
      for await (const event of store.readStream(stream)) if (event.revision === 3n) break;
      expect(await collect(store.readStreamBackwards(stream, 1))).to.have.length(1);
    });
  });
}

describe("closing the port to the event store", () => {
  it("waits for no read that was stopped in the middle", async () => {
    const stream = newStream();
    await store.append(stream, "none", events(50));
    for (const pages of [true, false]) {
      const other = openEventStore(url, { pages });
      for (let n = 0; n < 20; n += 1) {
        await other.ping(60_000);
        await other.head();
        for await (const event of other.readStream(stream)) if (event.revision === 1n) break;
        await collect(other.readAll({ countMax: 1 }));
      }
      await other.close();
    }
  });
});

describe("a subscription by the port", () => {
  it("gives events after the position, then that it caught up, then what comes", async () => {
    const stream = newStream();
    const { position } = await store.append(stream, "none", events(1));
    const second = await store.append(stream, 0n, events(3));
    await systemEvent();
    const items: SubscriptionItem[] = [];
    const following = follow(position, stopping.signal, items);
    await eventually(() => items.some(({ kind }) => kind === "caughtUp"));

    const live = await store.append(stream, 3n, events(2));
    await eventually(() => positions(items).includes(live.position));
    stopping.abort();
    await following;

    const given = positions(items);
    expect(given).to.deep.equal(given.toSorted((a, b) => Number(a - b)));
    expect(given.slice(0, 3).at(-1)).to.equal(second.position);
    const caughtUp = items.findIndex(({ kind }) => kind === "caughtUp");
    const before = items.slice(0, caughtUp);
    expect(positions(items.slice(caughtUp)).at(-1)).to.equal(live.position);
    // The checkpoint covers the system event after the last one given, so it is not read again. EventStoreDB gives one
    // only every so many events.
    if (isRealServer) return;
    const checkpoint = before.findLast((item) => item.kind === "checkpoint");
    expect(checkpoint?.kind === "checkpoint" && checkpoint.position > second.position).to.equal(
      true,
    );
  });

  it("gives checkpoints in their place among the events, however slow the reader", async () => {
    const stream = newStream();
    const { position: start } = await store.append(stream, "none", events(1));
    for (let n = 0; n < 4; n += 1) await store.append(newStream(), "none", events(300));
    let last = start;
    let checkpoints = 0;
    for await (const item of store.subscribeAll({ after: start, signal: stopping.signal })) {
      if (item.kind === "caughtUp") break;
      const position = item.kind === "event" ? item.event.position : item.position;
      if (item.kind === "checkpoint") checkpoints += 1;
      expect(position >= last).to.equal(true);
      last = position;
      if (checkpoints % 2 === 1) await new Promise(setImmediate);
    }
    expect(checkpoints).to.be.greaterThan(3);
  });

  it("ends on abort, also before it began and while nothing happens", async () => {
    const items: SubscriptionItem[] = [];
    await follow(undefined, AbortSignal.abort(), items);
    expect(items).to.deep.equal([]);

    const following = follow(await store.head(), stopping.signal, items);
    await eventually(() => items.some(({ kind }) => kind === "caughtUp"));
    stopping.abort();
    await following;
  });
});

const positions = (items: readonly SubscriptionItem[]): bigint[] =>
  items.flatMap((item) => (item.kind === "event" ? [item.event.position] : []));

async function follow(
  after: bigint | undefined,
  signal: AbortSignal,
  items: SubscriptionItem[],
): Promise<void> {
  for await (const item of store.subscribeAll({ after, signal })) items.push(item);
}

/** Metadata of a stream of its own: an event of the system. */
async function systemEvent(): Promise<void> {
  const client = EventStoreDBClient.connectionString(url);
  await client.setStreamMetadata(`test-${randomUUID()}`, { maxCount: 10 });
  await client.dispose();
}
