import { randomUUID } from "node:crypto";
import { convertGrpcEvent } from "@eventstore/db-client/dist/utils/convertGrpcEvent.js";
import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import { expect } from "chai";

import { type StoredEvent, tombstoneRevision } from "../../../src/embedded/event-store/event.ts";
import { eventBytes } from "../../../src/embedded/event-store/event-bytes.ts";
import type { Recorded } from "../../../src/events/core/event.ts";
import { clientOf, openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { recordedOf } from "../../../src/platform/event-store/eventstoredb-record.ts";
import { eventsIn } from "../../../src/platform/event-store/page-events.ts";
import { readPages } from "../../../src/platform/event-store/page-reader.ts";
import { testEventStore } from "../../support/event-store.ts";
import { collect, newEvent, newStream } from "../../support/test-event.ts";

const event: StoredEvent = {
  id: "2f0c9a4e-7b7c-4f0a-9d3e-5a1b2c3d4e5f",
  type: "IssueEdited",
  isJson: true,
  data: Buffer.from('{"title":"Ж"}'),
  metadata: Buffer.from('{"from":"🙂"}'),
  position: 7n,
  stream: "issue-1",
  revision: 0n,
  created: 17_000_000_000_000_000n,
};

const over: Readonly<Record<string, Partial<StoredEvent>>> = {
  "an ordinary one": {},
  "numbers of each length": { position: 300n, revision: 2n ** 32n + 5n },
  "numbers of 49 and 50 bits": { position: 2n ** 49n - 1n, revision: 2n ** 49n },
  "the largest numbers": { position: 2n ** 62n + 129n, revision: tombstoneRevision },
  "the start of the log": { position: 0n, revision: 0n },
  "a time just before a millisecond": { created: 17_000_000_000_009_999n },
  "a time that no double holds": { created: 17_000_000_000_019_999n },
  "the earliest time": { created: 0n },
  "bytes that are no JSON": { isJson: false, data: Buffer.from([0, 255]) },
  "JSON that is none": { data: Buffer.from("{"), metadata: Buffer.from("{") },
  "null as JSON": { data: Buffer.from("null"), metadata: Buffer.from("null") },
  "no data and no metadata": { isJson: false, data: Buffer.alloc(0), metadata: Buffer.alloc(0) },
  "long and foreign names": { stream: `поток-${"x🙂".repeat(250)}`, type: "Тип".repeat(50) },
  "much data": { data: Buffer.from(JSON.stringify("x".repeat(300_000))) },
};

/** As the official client reads the same bytes. */
function byClient(bytes: Buffer): Recorded {
  const read = streamsPb.ReadResp.deserializeBinary(bytes).getEvent();
  const { event: record } = convertGrpcEvent(read as never);
  return recordedOf(record as never);
}

const plain = (value: unknown): unknown =>
  value instanceof Uint8Array ? { bytes: [...value] } : value;
const comparable = (read: Recorded) => ({
  ...read,
  data: plain(read.data),
  metadata: plain(read.metadata),
});

describe("the events of a page", () => {
  for (const [name, changed] of Object.entries(over)) {
    it(`are those that the official client reads, of ${name}`, () => {
      const bytes = eventBytes({ ...event, ...changed }, false);
      const expected = comparable(byClient(bytes));
      expect(eventsIn(bytes).map(comparable)).to.deep.equal([expected]);
    });
  }

  it("come in their order, between fields that are not known", () => {
    const stored = Object.values(over).map((changed) => ({ ...event, ...changed }));
    // A number, a text, and numbers of 8 and 4 bytes, with the numbers 9 to 12.
    const unknown = Buffer.from([
      72,
      200,
      1,
      82,
      2,
      120,
      121,
      89,
      ...Array(8).fill(1),
      101,
      1,
      1,
      1,
      1,
    ]);
    const page = Buffer.concat(stored.flatMap((each) => [unknown, eventBytes(each, false)]));
    expect(eventsIn(page).map(comparable)).to.deep.equal(
      stored.map((each) => comparable(byClient(eventBytes(each, false)))),
    );
  });

  it("are none of half a message", () => {
    const bytes = eventBytes(event, false);
    for (const length of [bytes.length - 1, 20]) {
      expect(() => eventsIn(bytes.subarray(0, length))).to.throw();
    }
  });
});

const { store, url } = await testEventStore();

describe("reading in pages", () => {
  const single = openEventStore(url, { pages: false });
  after(() => single.close());

  it("gives what reading event by event does, however many there are", async () => {
    const stream = newStream();
    for (let n = 0; n < 8; n += 1) {
      const events = Array.from({ length: 100 }, (_, m) => ({
        ...newEvent(m),
        id: randomUUID(),
        data: { text: "Ж".repeat(m * 8) },
      }));
      await store.append(stream, "any", events);
    }
    const both = async (read: (of: typeof store) => AsyncIterable<Recorded>) => {
      const [inPages, singly] = [await collect(read(store)), await collect(read(single))];
      expect(inPages).to.deep.equal(singly);
      return inPages.length;
    };
    expect(await both((of) => of.readStream(stream))).to.equal(800);
    for (const countMax of [1, 32, 33, 700, 801]) {
      const count = Math.min(countMax, 700);
      expect(await both((of) => of.readStream(stream, 100n, countMax))).to.equal(count);
      expect(await both((of) => of.readStreamBackwards(stream, countMax))).to.equal(
        Math.min(countMax, 800),
      );
    }
    const [first] = await collect(single.readStream(stream, 0n, 1));
    await both((of) => of.readAll({ after: first!.position, countMax: 500 }));
    await both((of) => of.readAll());
  });

  it("takes few messages", async () => {
    let pages = 0;
    const client = clientOf(url);
    for await (const page of readPages(client, {})) pages += page.length > 0 ? 1 : 0;
    await client.dispose();
    expect(pages).to.be.lessThan(20);
  });
});
