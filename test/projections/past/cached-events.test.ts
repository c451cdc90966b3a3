import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { readCached } from "../../../src/projections/past/cached-events.ts";
import { metadataFor } from "../../support/app/history.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { store } = await testEventStore();
const stream = "test-1";
const places = Array.from({ length: 600 }, (_, n) => ({
  stream,
  revision: BigInt(n),
  position: BigInt(n),
}));

/** The same store, whose reads are counted. */
function countedStore() {
  const counted = { reads: 0 };
  const readStream: EventStore["readStream"] = (...given) => {
    counted.reads += 1;
    return store.readStream(...given);
  };
  return { counted, store: { ...store, readStream } };
}

before(async () => {
  const events = places.map(({ revision }) => ({
    id: randomUUID(),
    type: "Noted",
    data: { revision: Number(revision) },
    metadata: metadataFor(randomUUID()),
  }));
  for (let from = 0; from < events.length; from += 100) {
    const expected = from === 0 ? "none" : BigInt(from - 1);
    await store.append(stream, expected, events.slice(from, from + 100));
  }
});

describe("events that are kept", () => {
  it("are read by one read of their stream, and not again", async () => {
    const { counted, store: own } = countedStore();
    for (const _ of ["first", "again"]) {
      const revisions: unknown[] = [];
      await readCached(own, places, ({ event }) => revisions.push(event.data["revision"]));
      expect(revisions).to.deep.equal(places.map((_, n) => n));
      expect(counted.reads).to.equal(1);
    }
  });

  it("are read no further than up to the one that is refused", async () => {
    let taken = 0;
    const reading = readCached(countedStore().store, places, () => {
      taken += 1;
      if (taken === 10) throw new Error("enough");
    });
    await expect(reading).to.be.rejectedWith("enough");
    expect(taken).to.equal(10);
  });
});
