import { randomUUID } from "node:crypto";
import {
  END,
  eventTypeFilter,
  excludeSystemEvents,
  jsonEvent,
  START,
  streamNameFilter,
} from "@eventstore/db-client";
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

/** Type names nobody else uses: "<letter><random>". */
const mark = randomUUID().slice(0, 8);
const typed = (type: string) => jsonEvent({ type: `${type}${mark}`, data: {} });

describe("a filtered subscription to the log", () => {
  const stream = newStream();
  before(async () => {
    for (const type of ["Opened", "Closed", "Reopened"]) {
      await client.appendToStream(stream, typed(type));
      await client.appendToStream(`other-${stream}`, typed(type));
    }
    await client.setStreamMetadata(stream, { maxCount: 100 });
  });

  for (const [name, filter, expected] of [
    ["type prefix", eventTypeFilter({ prefixes: [`Open`] }), ["Opened", "Opened"]],
    [
      "several type prefixes",
      eventTypeFilter({ prefixes: [`Opened${mark}`, `Reop`] }),
      ["Opened", "Opened", "Reopened", "Reopened"],
    ],
    ["type expression", eventTypeFilter({ regex: `^(Re|Cl).*${mark}$` }), undefined],
    ["stream prefix", streamNameFilter({ prefixes: [stream] }), ["Opened", "Closed", "Reopened"]],
    [
      "stream expression",
      streamNameFilter({ regex: `^other-${stream}$` }),
      ["Opened", "Closed", "Reopened"],
    ],
  ] as const) {
    it(`by ${name} gives the events that match, in order, and no other`, async () => {
      const subscription = follow(client.subscribeToAll({ fromPosition: START, filter }));
      await eventually(() => subscription.caughtUp === 1);
      const types = subscription.events.map(({ type }) => type);
      const mine = types.filter((type) => type.endsWith(mark));
      const wanted = expected ?? ["Closed", "Closed", "Reopened", "Reopened"];
      expect(mine).to.deep.equal(wanted.map((type) => type + mark));
      await subscription.stop();
    });
  }

  it("without system events gives those of users only", async () => {
    const filter = excludeSystemEvents();
    const subscription = follow(client.subscribeToAll({ fromPosition: START, filter }));
    await eventually(() => subscription.caughtUp === 1);
    const all = await collect(client.readAll());
    const wanted = all.filter(({ event }) => !event!.type.startsWith("$"));
    expect(subscription.ids).to.deep.equal(wanted.map(({ event }) => event!.id));
    expect(subscription.ids.length).to.be.below(all.length);
    await subscription.stop();
  });

  it("goes on filtering when live", async () => {
    const filter = eventTypeFilter({ prefixes: [`Wanted${mark}`] });
    const subscription = follow(client.subscribeToAll({ fromPosition: END, filter }));
    await eventually(() => subscription.caughtUp === 1);
    await client.appendToStream(newStream(), [typed("Wanted"), typed("Other"), typed("Wanted")]);
    await client.appendToStream(newStream(), typed("Wanted"));
    await eventually(() => subscription.events.length === 3);
    expect(new Set(subscription.events.map(({ type }) => type)).size).to.equal(1);
    await subscription.stop();
  });
});

describe("checkpoints of a filtered subscription", () => {
  itOfEmbedded("report how far it read when it goes live, though nothing matched", async () => {
    const { position } = await client.appendToStream(newStream(), testEvent());
    const checkpoints: bigint[] = [];
    const filter = eventTypeFilter({
      prefixes: ["NoSuchType"],
      checkpointReached: (_, { commit }) => void checkpoints.push(commit),
    });
    const subscription = follow(client.subscribeToAll({ fromPosition: START, filter }));
    await eventually(() => subscription.caughtUp === 1);
    expect(checkpoints.at(-1)! >= position!.commit).to.equal(true);
    expect(subscription.events).to.deep.equal([]);
    await subscription.stop();
  });

  itOfEmbedded("come every so many events read, while catching up and live", async () => {
    const stream = newStream();
    const first = await client.appendToStream(stream, testEvent());
    await client.appendToStream(stream, testEvents(100));
    const checkpoints: bigint[] = [];
    const filter = eventTypeFilter({
      prefixes: ["NoSuchType"],
      maxSearchWindow: 5,
      checkpointInterval: 4,
      checkpointReached: (_, { commit }) => void checkpoints.push(commit),
    });
    const subscription = follow(client.subscribeToAll({ fromPosition: first.position!, filter }));
    await eventually(() => subscription.caughtUp === 1);
    // 100 events and one checkpoint for each 20 of them, then the one for going live.
    expect(checkpoints).to.have.length(6);
    expect(checkpoints).to.deep.equal(checkpoints.toSorted((a, b) => Number(a - b)));

    await client.appendToStream(stream, testEvents(40));
    await eventually(() => checkpoints.length === 8);
    await subscription.stop();
  });

  it("never run ahead of the events before them", async () => {
    const stream = newStream();
    const { position } = await client.appendToStream(stream, testEvent());
    await client.appendToStream(stream, testEvents(200));
    const seen: bigint[] = [];
    const filter = streamNameFilter({
      prefixes: [stream],
      maxSearchWindow: 1,
      checkpointReached: (_, { commit }) => void seen.push(commit),
    });
    const subscription = follow(client.subscribeToAll({ fromPosition: position!, filter }));
    await eventually(() => subscription.caughtUp === 1);
    const positions = subscription.events.map((event) => event.position!.commit);
    expect(seen.slice(0, 200)).to.deep.equal(positions);
    await subscription.stop();
  });
});
