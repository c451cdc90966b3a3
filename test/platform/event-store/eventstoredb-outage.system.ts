import { expect } from "chai";

import {
  type EventStore,
  StoreUnavailable,
  type SubscriptionItem,
} from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { eventually } from "../../support/app/eventually.ts";
import { type EventStoreChild, spawnEventStore } from "../../support/process/event-store-child.ts";
import { testDatabase } from "../../support/store/database.ts";
import { collect, newEvent, newStream } from "../../support/store/test-event.ts";

let server: EventStoreChild;
let store: EventStore;
after(async () => {
  await store?.close();
  await server?.kill();
});
const { url: databaseUrl } = await testDatabase();
before(async () => {
  server = await spawnEventStore(databaseUrl);
  store = openEventStore(server.url);
});

async function restart(): Promise<void> {
  server = await spawnEventStore(databaseUrl, server.port);
}

/** Ends the subscriptions of a test, also of one that failed. */
let stopping: AbortController;
beforeEach(() => {
  stopping = new AbortController();
});
afterEach(() => stopping.abort());

describe("the port to the event store, when the server goes away", () => {
  it("goes on with a subscription from the last item it gave", async () => {
    const stream = newStream();
    await store.append(stream, "none", [newEvent(0), newEvent(1)]);
    const items: SubscriptionItem[] = [];
    const following = (async () => {
      for await (const item of store.subscribeAll({ signal: stopping.signal })) items.push(item);
    })();
    const caughtUp = () => items.filter(({ kind }) => kind === "caughtUp").length;
    const numbers = () =>
      items.flatMap((item) => (item.kind === "event" ? [item.event.data["n"]] : []));
    await eventually(() => caughtUp() === 1);
    // Repeated with their ids when an answer was lost.
    const [third, fourth] = [newEvent(2), newEvent(3)];

    await server.kill();
    await restart();
    await eventually(() => caughtUp() >= 2, 60_000);
    // Given live, and so not covered by any checkpoint when the server goes away again.
    await eventually(() => store.append(stream, 1n, [third]), 60_000);
    await eventually(() => numbers().length === 3, 60_000);
    await server.kill();
    await restart();
    await eventually(() => store.append(stream, 2n, [fourth]), 60_000);

    await eventually(() => numbers().length >= 4 && caughtUp() >= 3, 60_000);
    expect(numbers()).to.deep.equal([0, 1, 2, 3]);
    stopping.abort();
    await following;
  });

  it("says that the store is unavailable, and works again when it is back", async () => {
    const stream = newStream();
    const event = newEvent();
    await server.kill();
    await expect(store.append(stream, "none", [event])).to.be.rejectedWith(StoreUnavailable);
    await expect(collect(store.readStream(stream))).to.be.rejectedWith(StoreUnavailable);
    await expect(store.head()).to.be.rejectedWith(StoreUnavailable);
    await expect(store.ping(2_000)).to.be.rejectedWith(StoreUnavailable);

    await restart();
    await eventually(() => store.ping(10_000).then(() => true), 60_000);
    await eventually(() => store.append(stream, "none", [event]), 60_000);
    expect(await collect(store.readStream(stream))).to.have.length(1);
  });

  it("fails every append in flight when the server hangs and dies, and nothing else", async () => {
    // More than the client can queue without rejecting promises nobody can wait for. Outside of
    // mocha, which keeps silent about them, one such rejection ends the process.
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    const data = { text: "x".repeat(200_000) };
    await store.append(newStream(), "none", [newEvent()]);
    server.process.kill("SIGSTOP");
    const appends = Array.from({ length: 64 }, () =>
      store.append(newStream(), "none", [{ ...newEvent(), data }]),
    );
    const settled = Promise.allSettled(appends);
    await expect(store.ping(500)).to.be.rejectedWith(StoreUnavailable, "does not answer");
    await server.kill();
    for (const outcome of await settled) {
      expect(outcome.status === "rejected" && outcome.reason).to.be.instanceOf(StoreUnavailable);
    }
    process.off("unhandledRejection", note);
    expect(unhandled).to.deep.equal([]);
    await restart();
    await eventually(() => store.ping(10_000).then(() => true), 60_000);
  });
});
