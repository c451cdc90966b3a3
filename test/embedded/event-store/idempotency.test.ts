import { ANY, NO_STREAM, STREAM_EXISTS, WrongExpectedVersionError } from "@eventstore/db-client";
import { expect } from "chai";

import { itOfEmbedded, testEventStoreClient } from "../../support/store/event-store.ts";
import { newStream, numbersIn, testEvent, testEvents } from "../../support/store/test-event.ts";

const client = await testEventStoreClient();

describe("appending the same events again", () => {
  for (const [name, before, expectedRevision] of [
    ["no stream", 0, NO_STREAM],
    ["an exact revision", 2, 1n],
    ["any revision", 2, ANY],
    ["an existing stream", 2, STREAM_EXISTS],
  ] as const) {
    it(`answers as the first time when ${name} is expected`, async () => {
      const stream = newStream();
      if (before > 0) await client.appendToStream(stream, testEvents(before));
      const events = [testEvent(10), testEvent(11)];
      const first = await client.appendToStream(stream, events, { expectedRevision });
      await client.appendToStream(stream, testEvent(12));

      const again = await client.appendToStream(stream, events, { expectedRevision });

      expect(again).to.deep.equal(first);
      const numbers = await numbersIn(client.readStream(stream));
      expect(numbers).to.deep.equal([...[0, 1].slice(0, before), 10, 11, 12]);
    });
  }

  for (const expectedRevision of [NO_STREAM, ANY] as const) {
    it(`is a conflict when only the first of them was stored (${expectedRevision})`, async () => {
      const stream = newStream();
      const stored = testEvent(1);
      await client.appendToStream(stream, stored, { expectedRevision });
      const longer = [stored, testEvent(2)];
      await expect(client.appendToStream(stream, longer, { expectedRevision })).to.be.rejectedWith(
        WrongExpectedVersionError,
      );
      expect(await numbersIn(client.readStream(stream))).to.deep.equal([1]);
    });
  }

  it("is a conflict at a revision where something else was stored", async () => {
    const stream = newStream();
    const events = testEvents(3);
    await client.appendToStream(stream, events, { expectedRevision: NO_STREAM });
    // The last two are there, but not right after revision 0.
    await expect(
      client.appendToStream(stream, events.slice(0, 2), { expectedRevision: 0n }),
    ).to.be.rejectedWith(WrongExpectedVersionError);
  });

  it("answers a part of what was stored together", async () => {
    const stream = newStream();
    const events = testEvents(3);
    await client.appendToStream(stream, events, { expectedRevision: NO_STREAM });
    const options = { expectedRevision: 0n };
    const again = await client.appendToStream(stream, events.slice(1), options);
    expect(again).to.include({ nextExpectedRevision: 2n });
    expect(await numbersIn(client.readStream(stream))).to.deep.equal([0, 1, 2]);
  });

  it("writes the same ids into another stream", async () => {
    const events = testEvents(2);
    const [one, other] = [newStream(), newStream()];
    await client.appendToStream(one, events);
    await client.appendToStream(other, events);
    expect(await numbersIn(client.readStream(one))).to.deep.equal([0, 1]);
    expect(await numbersIn(client.readStream(other))).to.deep.equal([0, 1]);
  });

  for (const expectedRevision of [NO_STREAM, ANY] as const) {
    itOfEmbedded(`stores one of two equal appends sent at once (${expectedRevision})`, async () => {
      // Many at once, so that both of a pair are decided before either is committed.
      await Promise.all(
        Array.from({ length: 30 }, async () => {
          const stream = newStream();
          const events = testEvents(2);
          const append = () => client.appendToStream(stream, events, { expectedRevision });
          const [first, second] = await Promise.all([append(), append()]);
          expect(second).to.deep.equal(first);
          expect(await numbersIn(client.readStream(stream))).to.deep.equal([0, 1]);
        }),
      );
    });
  }
});
