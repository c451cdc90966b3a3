import { EventStoreDBClient, excludeSystemEvents } from "@eventstore/db-client";
import { expect } from "chai";

import { startEventStoreServer } from "../../../src/embedded/event-store/server.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";
import {
  collect,
  follow,
  newStream,
  testEvent,
  testEvents,
} from "../../support/store/test-event.ts";

let server: Awaited<ReturnType<typeof startEventStoreServer>>;
let client: EventStoreDBClient;
after(async () => {
  await client?.dispose();
  await server?.close();
});
const { url: databaseUrl } = await testDatabase();

/** The newest events are kept in memory by the server that wrote them: only a new one reads all. */
describe("a subscription to what an earlier server wrote", () => {
  const stream = newStream();
  before(async () => {
    server = await startEventStoreServer({ databaseUrl });
    const writer = EventStoreDBClient.connectionString(server.url);
    for (let n = 0; n < 3; n += 1) await writer.appendToStream(stream, testEvents(100));
    await writer.setStreamMetadata(stream, { maxCount: 50 });
    await writer.dispose();
    await server.close();
    server = await startEventStoreServer({ databaseUrl });
    client = EventStoreDBClient.connectionString(server.url);
  });

  const log = async () =>
    (await collect(client.readAll())).map(({ event }) => event!.position!.commit);

  for (const seen of [0n, 1n, 2n, 150n, 300n, 301n, 302n]) {
    it(`begins after position ${seen}`, async () => {
      const fromPosition = { commit: seen, prepare: seen };
      const subscription = follow(client.subscribeToAll({ fromPosition }));
      await eventually(() => subscription.caughtUp === 1);
      const given = subscription.events.map(({ position }) => position!.commit);
      expect(given).to.deep.equal((await log()).filter((position) => position > seen));
      await subscription.stop();
    });
  }

  it("goes from the database to memory without loss or repetition while others write", async () => {
    let isWriting = true;
    const writing = Promise.all(
      Array.from({ length: 4 }, async () => {
        const mine = newStream();
        for (let n = 0; isWriting; n += 1) await client.appendToStream(mine, testEvent(n));
      }),
    );
    const subscriptions = Array.from({ length: 10 }, (_, n) => {
      const filter = n % 2 === 0 ? { filter: excludeSystemEvents() } : {};
      return follow(client.subscribeToAll({ fromPosition: "start", ...filter }));
    });
    await eventually(() => subscriptions.every(({ caughtUp }) => caughtUp > 0), 60_000).finally(
      () => {
        isWriting = false;
      },
    );
    await writing;

    const all = (await collect(client.readAll())).map(({ event }) => event!);
    const users = all.filter(({ type }) => !type.startsWith("$"));
    for (const [n, subscription] of subscriptions.entries()) {
      const expected = (n % 2 === 0 ? users : all).map(({ id }) => id);
      await eventually(() => subscription.ids.length >= expected.length);
      expect(subscription.ids).to.deep.equal(expected);
      await subscription.stop();
    }
  });
});
