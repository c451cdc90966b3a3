import {
  ANY,
  type AppendExpectedRevision,
  binaryEvent,
  jsonEvent,
  MaxAppendSizeExceededError,
  NO_STREAM,
  STREAM_EXISTS,
  WrongExpectedVersionError,
} from "@eventstore/db-client";
import { expect } from "chai";

import { testEventStoreClient } from "../../support/store/event-store.ts";
import {
  collect,
  newStream,
  numbersIn,
  testEvent,
  testEvents,
} from "../../support/store/test-event.ts";

const client = await testEventStoreClient();
const credentials = { username: "admin", password: "changeit" };

/** The client has two ways to append: one call for all, and one call each when given credentials. */
for (const [way, options] of [
  ["batch append", {}],
  ["plain append", { credentials }],
] as const) {
  describe(`${way} to the event store`, () => {
    const append = (
      stream: string,
      events: ReturnType<typeof testEvent>[],
      expectedRevision: AppendExpectedRevision,
    ) => client.appendToStream(stream, events, { ...options, expectedRevision });

    it("numbers the events of a stream from 0 and reports where the last one went", async () => {
      const stream = newStream();
      const first = await append(stream, testEvents(3), NO_STREAM);
      const second = await append(stream, testEvents(2), 2n);

      expect(first).to.include({ success: true, nextExpectedRevision: 2n });
      expect(second).to.include({ success: true, nextExpectedRevision: 4n });
      expect(second.position!.commit > first.position!.commit).to.equal(true);
      const read = await collect(client.readStream(stream));
      expect(read.map(({ event }) => event!.revision)).to.deep.equal([0n, 1n, 2n, 3n, 4n]);
      expect(read.at(-1)!.event!.position).to.deep.equal(second.position);
    });

    it("gives an event back as it was sent", async () => {
      const stream = newStream();
      const sent = testEvent(7);
      const binary = binaryEvent({ type: "Packed", data: Buffer.from([0, 255, 1]) });
      await client.appendToStream(stream, [sent, binary], options);

      const [json, packed] = await collect(client.readStream(stream));
      expect(json!.event).to.deep.include({
        id: sent.id,
        streamId: stream,
        type: "Tested",
        data: { n: 7 },
        metadata: { from: "test" },
        isJson: true,
      });
      expect(Math.abs(json!.event!.created.getTime() - Date.now())).to.be.below(60_000);
      expect(packed!.event).to.deep.include({ id: binary.id, type: "Packed", isJson: false });
      expect(Buffer.from(packed!.event!.data as Uint8Array)).to.deep.equal(
        Buffer.from([0, 255, 1]),
      );
    });

    it("accepts whatever the stream holds when any revision is expected", async () => {
      const stream = newStream();
      expect(await append(stream, testEvents(1), ANY)).to.include({ nextExpectedRevision: 0n });
      expect(await append(stream, testEvents(1), ANY)).to.include({ nextExpectedRevision: 1n });
    });

    it("accepts an existing stream, and one that has metadata only, when one must exist", async () => {
      const stream = newStream();
      await append(stream, testEvents(1), ANY);
      const appended = await append(stream, testEvents(1), STREAM_EXISTS);
      expect(appended).to.include({ nextExpectedRevision: 1n });

      const described = newStream();
      await client.setStreamMetadata(described, { maxCount: 5 });
      const created = await append(described, testEvents(1), STREAM_EXISTS);
      expect(created).to.include({ nextExpectedRevision: 0n });
    });

    const conflicts: [string, number, AppendExpectedRevision, bigint | "no_stream"][] = [
      ["no stream where there is one", 2, NO_STREAM, 1n],
      ["a stream where there is none", 0, STREAM_EXISTS, "no_stream"],
      ["a revision before the last", 3, 1n, 2n],
      ["a revision after the last", 3, 3n, 2n],
      ["a revision where there is no stream", 0, 0n, "no_stream"],
    ];
    for (const [what, stored, expected, actual] of conflicts) {
      it(`refuses an append that expects ${what}, and writes nothing`, async () => {
        const stream = newStream();
        if (stored > 0) await append(stream, testEvents(stored), NO_STREAM);

        const error = await failure(append(stream, testEvents(2), expected));

        expect(error).to.be.instanceOf(WrongExpectedVersionError);
        expect(error).to.include({ expectedVersion: expected, actualVersion: actual });
        expect(error).to.include({ streamName: stream });
        if (stored > 0) expect(await numbersIn(client.readStream(stream))).to.have.length(stored);
      });
    }

    it("takes exactly one of many appends that expect the same revision", async () => {
      const stream = newStream();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 12 }, (_, n) => append(stream, [testEvent(n)], NO_STREAM)),
      );
      expect(outcomes.filter(({ status }) => status === "fulfilled")).to.have.length(1);
      expect(await numbersIn(client.readStream(stream))).to.have.length(1);
    });

    it("writes nothing for an append without events", async () => {
      const stream = newStream();
      await append(stream, testEvents(2), NO_STREAM);
      expect(await append(stream, [], ANY)).to.include({ nextExpectedRevision: 1n });
      expect(await append(stream, [], 1n)).to.include({ nextExpectedRevision: 1n });
      await expect(append(stream, [], 0n)).to.be.rejectedWith(WrongExpectedVersionError);
    });

    it("refuses an append above 1 MiB whole, and takes one below", async () => {
      const stream = newStream();
      const sized = (bytes: number) => jsonEvent({ type: "Big", data: "x".repeat(bytes) });
      await append(stream, [sized(500_000), sized(500_000)], NO_STREAM);

      const error = await failure(append(stream, [testEvent(), sized(1_100_000)], 1n));

      expect(error).to.be.instanceOf(MaxAppendSizeExceededError);
      expect(error).to.include({ maxAppendSize: 1_048_576 });
      expect(await collect(client.readStream(stream))).to.have.length(2);
    });

    it("counts the data alone, as EventStoreDB does: many small events are one append", async () => {
      const stream = newStream();
      const metadata = { note: "m".repeat(400) };
      const events = Array.from({ length: 3_000 }, (_, n) =>
        jsonEvent({ type: "Small", data: { n }, metadata }),
      );
      const last = BigInt(events.length - 1);
      expect(await append(stream, events, NO_STREAM)).to.include({ nextExpectedRevision: last });
    });

    it("keeps names and data beyond ASCII", async () => {
      const stream = `${newStream()} поток ✓`;
      const event = jsonEvent({ type: "Проверено", data: { text: "ёж \u0000 \ud83d\ude00" } });
      await append(stream, [event], NO_STREAM);
      const [read] = await collect(client.readStream(stream));
      expect(read!.event).to.deep.include({ streamId: stream, type: event.type, data: event.data });
    });
  });
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail("it should have failed"),
    (error: unknown) => error,
  );
}
