import { BACKWARDS, END, jsonEvent } from "@eventstore/db-client";
import { expect } from "chai";
import { eventually } from "../../support/app/eventually.ts";
import { testEventStoreClient } from "../../support/store/event-store.ts";
import {
  collect,
  newStream,
  numbersIn,
  testEvent,
  testEvents,
} from "../../support/store/test-event.ts";

const client = await testEventStoreClient();
const read = (stream: string) => numbersIn(client.readStream(stream));
const readBack = (stream: string) =>
  numbersIn(client.readStream(stream, { direction: BACKWARDS, fromRevision: END }));

describe("stream metadata", () => {
  it("comes back as it was set, access lists and fields of one's own included", async () => {
    const stream = newStream();
    const metadata = {
      maxCount: 7,
      maxAge: 3_600,
      truncateBefore: 2,
      cacheControl: 60,
      acl: { readRoles: ["$all"], writeRoles: ["anna"], deleteRoles: [], metaReadRoles: ["ops"] },
      color: "green",
    };
    await client.setStreamMetadata(stream, metadata);
    const got = await client.getStreamMetadata(stream);
    expect(got.metadata).to.deep.equal(metadata);
  });

  it("is none for a stream that has none", async () => {
    expect((await client.getStreamMetadata(newStream())).metadata).to.equal(undefined);
  });

  it("is subject to an expected revision of its own", async () => {
    const stream = newStream();
    await client.setStreamMetadata(stream, { maxCount: 1 }, { expectedRevision: "no_stream" });
    await expect(
      client.setStreamMetadata(stream, { maxCount: 2 }, { expectedRevision: "no_stream" }),
    ).to.be.rejectedWith("");
    await client.setStreamMetadata(stream, { maxCount: 3 }, { expectedRevision: 0n });
    expect((await client.getStreamMetadata(stream)).metadata).to.deep.equal({ maxCount: 3 });
  });

  it("shows only the newest events with $maxCount, whichever way they are read", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvents(10));
    await client.setStreamMetadata(stream, { maxCount: 3 });
    expect(await read(stream)).to.deep.equal([7, 8, 9]);
    expect(await readBack(stream)).to.deep.equal([9, 8, 7]);

    await client.appendToStream(stream, testEvent(10));
    expect(await read(stream)).to.deep.equal([8, 9, 10]);
  });

  it("shows only events from $tb on, whichever way they are read", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvents(10));
    await client.setStreamMetadata(stream, { truncateBefore: 8 });
    expect(await read(stream)).to.deep.equal([8, 9]);
    expect(await readBack(stream)).to.deep.equal([9, 8]);
    const from = client.readStream(stream, { fromRevision: 3n, maxCount: 1 });
    expect(await numbersIn(from)).to.deep.equal([8]);
  });

  it("obeys the stricter of $maxCount and $tb", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvents(10));
    await client.setStreamMetadata(stream, { truncateBefore: 5, maxCount: 8 });
    expect(await read(stream)).to.deep.equal([5, 6, 7, 8, 9]);
    await client.setStreamMetadata(stream, { truncateBefore: 5, maxCount: 2 });
    expect(await read(stream)).to.deep.equal([8, 9]);
  });

  it("hides events once they are older than $maxAge, and only those", async () => {
    let stream = "";
    /** Undefined when the second in which the event shows was over before it was read. */
    const seenInTime = async <Seen>(n: number, see: () => Promise<Seen>) => {
      const begunAt = Date.now();
      await client.appendToStream(stream, testEvent(n));
      const seen = await see();
      return Date.now() - begunAt < 900 ? seen : undefined;
    };
    // A busy machine may need more than one try.
    const seen = await eventually(async () => {
      stream = newStream();
      await client.setStreamMetadata(stream, { maxAge: 1 });
      const first = await seenInTime(1, () => read(stream));
      await eventually(async () => (await read(stream)).length === 0);
      const second = await seenInTime(2, async () => [await read(stream), await readBack(stream)]);
      return first && second && { first, second };
    });
    expect(seen).to.deep.equal({ first: [1], second: [[2], [2]] });

    await client.setStreamMetadata(stream, { maxAge: 3_600 });
    expect(await read(stream)).to.deep.equal([1, 2]);
  });

  it("is read from the newest event of its stream, which shows no other", async () => {
    const stream = newStream();
    await client.setStreamMetadata(stream, { maxCount: 1 });
    await client.setStreamMetadata(stream, { maxCount: 2 });
    const events = await collect(client.readStream(`$$${stream}`));
    expect(events.map(({ event }) => event!.data)).to.deep.equal([{ $maxCount: 2 }]);
    expect(events[0]!.event!.revision).to.equal(1n);
  });

  it("counts as none when it is not what metadata looks like", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvents(2));
    const odd = { $maxCount: "3", $tb: -1, $maxAge: 0.5 };
    await client.appendToStream(`$$${stream}`, jsonEvent({ type: "$metadata", data: odd }));
    expect(await read(stream)).to.deep.equal([0, 1]);
  });

  it("leaves the log alone", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvents(3));
    await client.setStreamMetadata(stream, { maxCount: 1 });
    const events = await collect(client.readAll());
    const mine = events.filter(({ event }) => event!.streamId === stream);
    expect(mine).to.have.length(3);
  });
});
