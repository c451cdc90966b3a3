import { randomUUID } from "node:crypto";
import { convertGrpcEvent } from "@eventstore/db-client/dist/utils/convertGrpcEvent.js";
import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import { expect } from "chai";

import { eventBytes } from "../../../src/embedded/event-store/event-bytes.ts";
import type { Recorded } from "../../../src/events/core/event.ts";
import { clientOf } from "../../../src/platform/event-store/connection.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { recordedOf } from "../../../src/platform/event-store/eventstoredb-record.ts";
import { eventsIn } from "../../../src/platform/event-store/page-events.ts";
import { readPages } from "../../../src/platform/event-store/page-reader.ts";
import { itOfEmbedded, testEventStore } from "../../support/store/event-store.ts";
import { storedEvent, storedEventCases } from "../../support/store/stored-events.ts";
import { collect, newEvent, newStream } from "../../support/store/test-event.ts";

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
  for (const [name, changed] of Object.entries(storedEventCases)) {
    it(`are those that the official client reads, of ${name}`, () => {
      const bytes = eventBytes({ ...storedEvent, ...changed }, false);
      const expected = comparable(byClient(bytes));
      expect(eventsIn(bytes).map(comparable)).to.deep.equal([expected]);
    });
  }

  it("come in their order, between fields that are not known", () => {
    const stored = Object.values(storedEventCases).map((changed) => ({
      ...storedEvent,
      ...changed,
    }));
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
    const bytes = eventBytes(storedEvent, false);
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

  itOfEmbedded("takes few messages", async () => {
    let pages = 0;
    const client = clientOf(url);
    for await (const page of readPages(client, {})) pages += page.length > 0 ? 1 : 0;
    await client.dispose();
    expect(pages).to.be.lessThan(20);
  });
});
