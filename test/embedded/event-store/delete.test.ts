import {
  ANY,
  NO_STREAM,
  STREAM_EXISTS,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
} from "@eventstore/db-client";
import { expect } from "chai";

import { itOfEmbedded, testEventStoreClient } from "../../support/store/event-store.ts";
import {
  collect,
  newStream,
  numbersIn,
  testEvent,
  testEvents,
} from "../../support/store/test-event.ts";

const client = await testEventStoreClient();
const read = (stream: string) => numbersIn(client.readStream(stream));

async function streamOf(count: number): Promise<string> {
  const stream = newStream();
  await client.appendToStream(stream, testEvents(count));
  return stream;
}

describe("deleting a stream", () => {
  it("hides it from readers", async () => {
    const stream = await streamOf(2);
    const { position } = await client.deleteStream(stream);
    expect(position!.commit > 0n).to.equal(true);
    await expect(read(stream)).to.be.rejectedWith(StreamNotFoundError);
  });

  for (const [name, expectedRevision] of [
    ["any revision", undefined],
    ["no stream", NO_STREAM],
    ["its last revision", 2n],
  ] as const) {
    it(`lets it begin again after the old events when ${name} is expected`, async () => {
      const stream = await streamOf(3);
      await client.deleteStream(stream);
      const options = expectedRevision === undefined ? {} : { expectedRevision };
      const result = await client.appendToStream(stream, [testEvent(10), testEvent(11)], options);

      expect(result).to.include({ nextExpectedRevision: 4n });
      expect(await read(stream)).to.deep.equal([10, 11]);
      const [first] = await collect(client.readStream(stream, { maxCount: 1 }));
      expect(first!.event!.revision).to.equal(3n);
      expect((await client.getStreamMetadata(stream)).metadata).to.include({ truncateBefore: 3 });
    });
  }

  it("that never was is a conflict, whatever is expected", async () => {
    for (const expectedRevision of [ANY, NO_STREAM, 0n] as const) {
      const error = await client.deleteStream(newStream(), { expectedRevision }).catch((e) => e);
      expect(error).to.be.instanceOf(WrongExpectedVersionError);
    }
  });

  it("keeps being deleted for who expects an existing stream", async () => {
    const stream = await streamOf(1);
    await client.deleteStream(stream);
    await expect(
      client.appendToStream(stream, testEvent(), { expectedRevision: STREAM_EXISTS }),
    ).to.be.rejectedWith(StreamDeletedError);
  });

  it("is a conflict with another revision than the last", async () => {
    const stream = await streamOf(3);
    const error = await client.deleteStream(stream, { expectedRevision: 1n }).catch((e) => e);
    expect(error).to.be.instanceOf(WrongExpectedVersionError);
    expect(error).to.include({ streamName: stream, expectedVersion: 1n, actualVersion: 2n });
    expect(await read(stream)).to.deep.equal([0, 1, 2]);
    await client.deleteStream(stream, { expectedRevision: 2n });
  });

  it("is a conflict when no stream is expected where there is one", async () => {
    const stream = await streamOf(1);
    const deleting = client.deleteStream(stream, { expectedRevision: NO_STREAM });
    await expect(deleting).to.be.rejectedWith(WrongExpectedVersionError);
  });

  itOfEmbedded("is a conflict when no stream is expected, also once it was deleted", async () => {
    const stream = await streamOf(1);
    await client.deleteStream(stream);
    const deleting = client.deleteStream(stream, { expectedRevision: NO_STREAM });
    await expect(deleting).to.be.rejectedWith(WrongExpectedVersionError);
  });

  it("can be done twice, and is undone by appending", async () => {
    const stream = await streamOf(1);
    await client.deleteStream(stream);
    await client.deleteStream(stream);
    await client.appendToStream(stream, testEvent(5));
    await client.deleteStream(stream);
    await client.appendToStream(stream, testEvent(6));
    expect(await read(stream)).to.deep.equal([6]);
  });

  it("ends when metadata is set, with the old events still hidden", async () => {
    const stream = await streamOf(2);
    await client.deleteStream(stream);
    await client.setStreamMetadata(stream, { maxCount: 9 });
    expect(await read(stream)).to.deep.equal([]);
    expect((await client.getStreamMetadata(stream)).metadata).to.deep.equal({
      maxCount: 9,
      truncateBefore: 2,
    });
  });

  it("leaves its events in the log", async () => {
    const stream = await streamOf(2);
    await client.deleteStream(stream);
    const log = await collect(client.readAll());
    const mine = log.filter(({ event }) => event!.streamId === stream);
    expect(mine).to.have.length(2);
  });
});

describe("tombstoning a stream", () => {
  it("ends it for ever, for readers and writers", async () => {
    const stream = await streamOf(2);
    const { position } = await client.tombstoneStream(stream);
    expect(position!.commit > 0n).to.equal(true);

    const reading = await read(stream).catch((error) => error);
    expect(reading).to.be.instanceOf(StreamDeletedError);
    expect(reading).to.include({ streamName: stream });
    for (const options of [{}, { credentials: { username: "a", password: "b" } }]) {
      const appending = client.appendToStream(stream, testEvent(), options);
      await expect(appending).to.be.rejectedWith(StreamDeletedError);
    }
    await expect(client.deleteStream(stream)).to.be.rejectedWith(StreamDeletedError);
    await expect(client.tombstoneStream(stream)).to.be.rejectedWith(StreamDeletedError);
  });

  itOfEmbedded("ends its metadata too", async () => {
    const stream = await streamOf(1);
    await client.setStreamMetadata(stream, { maxCount: 1 });
    await client.tombstoneStream(stream);
    await expect(client.getStreamMetadata(stream)).to.be.rejectedWith(StreamDeletedError);
    await expect(client.setStreamMetadata(stream, { maxCount: 2 })).to.be.rejectedWith(
      StreamDeletedError,
    );
  });

  it("works on a stream that never existed, and on a deleted one", async () => {
    const absent = newStream();
    await client.tombstoneStream(absent, { expectedRevision: NO_STREAM });
    await expect(read(absent)).to.be.rejectedWith(StreamDeletedError);

    const deleted = await streamOf(1);
    await client.deleteStream(deleted);
    await client.tombstoneStream(deleted);
    await expect(read(deleted)).to.be.rejectedWith(StreamDeletedError);
  });

  it("is a conflict with another revision than the last", async () => {
    const stream = await streamOf(2);
    const tombstoning = client.tombstoneStream(stream, { expectedRevision: 0n });
    await expect(tombstoning).to.be.rejectedWith(WrongExpectedVersionError);
    expect(await read(stream)).to.deep.equal([0, 1]);
  });
});
