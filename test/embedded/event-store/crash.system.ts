import { expect } from "chai";

import type { NewEvent } from "../../../src/events/core/event.ts";
import {
  type Appended,
  type ExpectedRevision,
  StoreUnavailable,
} from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { eventually } from "../../support/app/eventually.ts";
import { type EventStoreChild, spawnEventStore } from "../../support/process/event-store-child.ts";
import { testDatabase } from "../../support/store/database.ts";
import { newEvent, newStream } from "../../support/store/test-event.ts";

const kills = 3;
const writers = 8;

let server: EventStoreChild | undefined;
after(() => server?.kill());
const { url: databaseUrl, db } = await testDatabase();

describe("killing the event store while appending", () => {
  it("loses nothing acknowledged, doubles nothing, and leaves no gap", async () => {
    server = await spawnEventStore(databaseUrl);
    const { url, port } = server;
    const store = openEventStore(url);
    const acknowledged: Appended[] = [];
    const stopping = new AbortController();

    /** As an application does: the same events, with the same expectation, until an answer comes. */
    const append = async (
      stream: string,
      expected: ExpectedRevision,
      events: NewEvent[],
    ): Promise<Appended> => {
      for (;;) {
        try {
          return await store.append(stream, expected, events);
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) throw error;
        }
        await new Promise(setImmediate);
      }
    };
    const write = async (stream: string, useAny: boolean): Promise<void> => {
      let expected: ExpectedRevision = "none";
      while (!stopping.signal.aborted) {
        const events = [newEvent(), newEvent()];
        const appended = await append(stream, useAny ? "any" : expected, events);
        acknowledged.push(appended);
        expected = appended.revision;
      }
    };
    const seen: bigint[] = [];
    const watching = new AbortController();
    after(() => {
      stopping.abort();
      watching.abort();
    });
    const watch = async (): Promise<void> => {
      for await (const item of store.subscribeAll({ signal: watching.signal })) {
        if (item.kind === "event") seen.push(item.event.position);
      }
    };

    const watched = watch();
    const writing = Array.from({ length: writers }, (_, n) => write(newStream(), n % 2 === 0));
    for (let kill = 1; kill <= kills; kill += 1) {
      const enough = kill * 100;
      await eventually(() => acknowledged.length >= enough, 120_000);
      await server.kill();
      server = await spawnEventStore(databaseUrl, port);
    }
    await eventually(() => acknowledged.length >= (kills + 1) * 100, 120_000);
    stopping.abort();
    await Promise.all(writing);

    const { rows } = await db.raw<{ rows: { pos: bigint; id: string; last: boolean }[] }>(
      `select pos, id from event_store.event order by pos`,
    );
    const positions = rows.map(({ pos }) => BigInt(pos));
    expect(positions).to.deep.equal(positions.map((_, index) => BigInt(index + 1)));
    expect(new Set(rows.map(({ id }) => id)).size).to.equal(rows.length);
    // Every append is two events, each acknowledged once: nothing lost is nothing doubled.
    expect(rows.length).to.equal(acknowledged.length * 2);
    const ends = acknowledged.map(({ position }) => position);
    expect(new Set(ends).size).to.equal(ends.length);

    await eventually(() => seen.length >= rows.length);
    expect(seen).to.deep.equal(positions);
    watching.abort();
    await watched;
    await store.close();
  }).timeout(600_000);
});
