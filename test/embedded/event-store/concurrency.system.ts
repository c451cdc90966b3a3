import { excludeSystemEvents } from "@eventstore/db-client";
import { expect } from "chai";
import { eventually } from "../../support/app/eventually.ts";
import { testEventStoreClient } from "../../support/store/event-store.ts";
import { collect, follow, newStream, testEvent } from "../../support/store/test-event.ts";

const client = await testEventStoreClient();

/** Appends one event after the other to each of so many streams, at once. */
async function write(streams: readonly string[], eventsEach: number): Promise<void> {
  await Promise.all(
    streams.map(async (stream) => {
      for (let n = 0; n < eventsEach; n += 1) {
        const expectedRevision = n === 0 ? "no_stream" : BigInt(n - 1);
        await client.appendToStream(stream, testEvent(n), { expectedRevision });
      }
    }),
  );
}

async function idsOf(streams: readonly string[]): Promise<string[]> {
  const wanted = new Set(streams);
  const all = await collect(client.readAll());
  return all.filter(({ event }) => wanted.has(event!.streamId)).map(({ event }) => event!.id);
}

describe("the event store under concurrent writers", () => {
  it("neither loses nor repeats an event for subscriptions that catch up meanwhile", async () => {
    const streams = Array.from({ length: 8 }, newStream);
    const writing = write(streams, 60);
    const subscriptions: ReturnType<typeof follow>[] = [];
    // Each begins at another moment, so that some switch to live in the middle of it all.
    for (let n = 0; n < 12; n += 1) {
      const filter = n % 2 === 0 ? { filter: excludeSystemEvents() } : {};
      subscriptions.push(follow(client.subscribeToAll({ fromPosition: "start", ...filter })));
      await client.appendToStream(newStream(), testEvent());
    }
    const streamed = follow(client.subscribeToStream(streams[0]!));
    await writing;

    const expected = await idsOf(streams);
    expect(expected).to.have.length(480);
    const wanted = new Set(streams);
    for (const subscription of subscriptions) {
      const ids = () =>
        subscription.events.filter(({ streamId }) => wanted.has(streamId)).map(({ id }) => id);
      await eventually(() => ids().length >= expected.length);
      expect(ids()).to.deep.equal(expected);
      await subscription.stop();
    }
    await eventually(() => streamed.events.length >= 60);
    expect(streamed.numbers).to.deep.equal(Array.from({ length: 60 }, (_, n) => n));
    await streamed.stop();
  });

  it("shows everything to a reader that goes on from the last position it saw", async () => {
    const streams = Array.from({ length: 32 }, newStream);
    const { position: start } = await client.appendToStream(newStream(), testEvent());
    let finished = false;
    const writing = write(streams, 15).finally(() => {
      finished = true;
    });
    let fromPosition = start!;
    const seen: string[] = [];
    for (let last = false; !last; ) {
      last = finished;
      for await (const { event } of client.readAll({ fromPosition })) {
        // Reading begins at the position, which was seen already.
        if (event!.position!.commit <= fromPosition.commit) continue;
        fromPosition = event!.position!;
        seen.push(event!.id);
      }
    }
    await writing;
    const expected = await idsOf(streams);
    expect(expected).to.have.length(480);
    const wanted = new Set(expected);
    expect(seen.filter((id) => wanted.has(id))).to.deep.equal(expected);
  });
});
