import { END, START, StreamDeletedError } from "@eventstore/db-client";
import { expect } from "chai";
import { eventually } from "../../support/app/eventually.ts";
import { itOfEmbedded, testEventStoreClient } from "../../support/store/event-store.ts";
import {
  collect,
  follow,
  newStream,
  testEvent,
  testEvents,
} from "../../support/store/test-event.ts";

const client = await testEventStoreClient();
const log = async () => (await collect(client.readAll())).map(({ event }) => event!);

describe("subscribing to a stream", () => {
  it("delivers the existing events, reports that it has caught up, and goes on with new ones", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvents(50));
    const subscription = follow(client.subscribeToStream(stream));
    await eventually(() => subscription.caughtUp === 1);
    expect(subscription.numbers).to.have.length(50);

    await client.appendToStream(newStream(), testEvent(-1));
    await client.appendToStream(stream, [testEvent(50), testEvent(51)]);
    await client.appendToStream(stream, testEvent(52));

    await eventually(() => subscription.numbers.length >= 53);
    expect(subscription.numbers).to.deep.equal(Array.from({ length: 53 }, (_, n) => n));
    await subscription.stop();
  });

  it("begins after the revision given", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvents(5));
    const subscription = follow(client.subscribeToStream(stream, { fromRevision: 2n }));
    await eventually(() => subscription.caughtUp === 1);
    expect(subscription.numbers).to.deep.equal([3, 4]);
    await subscription.stop();
  });

  it("gives only what comes when it begins at the end", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvents(5));
    const subscription = follow(client.subscribeToStream(stream, { fromRevision: END }));
    await eventually(() => subscription.caughtUp === 1);
    await client.appendToStream(stream, testEvent(9));
    await eventually(() => subscription.numbers.length > 0);
    expect(subscription.numbers).to.deep.equal([9]);
    await subscription.stop();
  });

  itOfEmbedded("waits for a stream that does not exist yet", async () => {
    const stream = newStream();
    const subscription = follow(client.subscribeToStream(stream));
    await eventually(() => subscription.caughtUp === 1);
    await client.appendToStream(stream, testEvent(1));
    await eventually(() => subscription.numbers.length === 1);
    await subscription.stop();
  });

  itOfEmbedded("does not show deleted events again when the stream begins anew", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvents(3));
    await client.deleteStream(stream);
    const subscription = follow(client.subscribeToStream(stream));
    await eventually(() => subscription.caughtUp === 1);
    await client.appendToStream(stream, testEvent(9));
    await eventually(() => subscription.numbers.length > 0);
    expect(subscription.numbers).to.deep.equal([9]);
    await subscription.stop();
  });

  it("leaves out while catching up what a reader does not see, and nothing when live", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvents(5));
    await client.setStreamMetadata(stream, { maxCount: 2 });
    const subscription = follow(client.subscribeToStream(stream));
    await eventually(() => subscription.caughtUp === 1);
    await client.appendToStream(
      stream,
      [5, 6, 7, 8].map((n) => testEvent(n)),
    );
    await eventually(() => subscription.numbers.length === 6);
    expect(subscription.numbers).to.deep.equal([3, 4, 5, 6, 7, 8]);
    await subscription.stop();
  });

  it("ends with an error when the stream is tombstoned", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvent());
    const subscription = follow(client.subscribeToStream(stream));
    await eventually(() => subscription.caughtUp === 1);
    await client.tombstoneStream(stream);
    await eventually(() => subscription.error !== undefined);
    expect(subscription.error).to.be.instanceOf(StreamDeletedError);
  });
});

describe("subscribing to the log", () => {
  it("delivers all of it in order, reports that it has caught up, and goes on with new events", async () => {
    await client.appendToStream(newStream(), testEvents(20));
    const before = await log();
    const subscription = follow(client.subscribeToAll({ fromPosition: START }));
    await eventually(() => subscription.caughtUp === 1);
    expect(subscription.ids.slice(0, before.length)).to.deep.equal(before.map(({ id }) => id));

    const stream = newStream();
    await client.appendToStream(stream, testEvents(3));
    await eventually(() => subscription.eventsOf(stream).length === 3);
    expect(subscription.ids).to.deep.equal((await log()).map(({ id }) => id));
    await subscription.stop();
  });

  it("begins after the position given", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvents(5));
    const events = await collect(client.readStream(stream));
    const fromPosition = events[2]!.event!.position!;
    const subscription = follow(client.subscribeToAll({ fromPosition }));
    await eventually(() => subscription.caughtUp === 1);
    expect(subscription.numbers.slice(0, 2)).to.deep.equal([3, 4]);
    await subscription.stop();
  });

  it("gives only what comes when it begins at the end", async () => {
    const subscription = follow(client.subscribeToAll({ fromPosition: END }));
    await eventually(() => subscription.caughtUp === 1);
    expect(subscription.ids).to.deep.equal([]);
    const stream = newStream();
    await client.appendToStream(stream, testEvent(1));
    await eventually(() => subscription.eventsOf(stream).length === 1);
    await subscription.stop();
  });

  it("shows metadata, deletes and tombstones as events of the system", async () => {
    const subscription = follow(client.subscribeToAll({ fromPosition: END }));
    await eventually(() => subscription.caughtUp === 1);
    const stream = newStream();
    await client.appendToStream(stream, testEvent(1));
    await client.setStreamMetadata(stream, { maxCount: 2 });
    await client.deleteStream(stream);
    await client.tombstoneStream(stream);
    const types = () => [...subscription.eventsOf(stream), ...subscription.eventsOf(`$$${stream}`)];
    await eventually(() => types().length === 4);
    expect(types().map(({ type }) => type)).to.deep.equal([
      "Tested",
      "$streamDeleted",
      "$metadata",
      "$metadata",
    ]);
    await subscription.stop();
  });

  it("serves many subscriptions at once", async () => {
    const subscriptions = Array.from({ length: 20 }, () =>
      follow(client.subscribeToAll({ fromPosition: END })),
    );
    await eventually(() => subscriptions.every(({ caughtUp }) => caughtUp === 1));
    const stream = newStream();
    for (let n = 0; n < 10; n += 1) await client.appendToStream(stream, testEvent(n));
    await eventually(() => subscriptions.every((each) => each.eventsOf(stream).length === 10));
    await Promise.all(subscriptions.map((each) => each.stop()));
  });
});
