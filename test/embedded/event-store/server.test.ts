import { connect } from "node:http2";
import {
  CancelledError,
  EventStoreDBClient,
  eventTypeFilter,
  jsonEvent,
  UnavailableError,
} from "@eventstore/db-client";
import { expect } from "chai";
import type { Knex } from "knex";

import { startEventStoreServer } from "../../../src/embedded/event-store/server.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";
import {
  collect,
  follow,
  newStream,
  numbersIn,
  testEvent,
  testEvents,
} from "../../support/store/test-event.ts";

const outages: string[] = [];
const onOutage = (error: unknown): void => void outages.push(String(error));
let server: Awaited<ReturnType<typeof startEventStoreServer>>;
let client: EventStoreDBClient;
let databaseUrl: string;
let db: Knex;

after(async () => {
  await client?.dispose();
  await server?.close();
});
({ url: databaseUrl, db } = await testDatabase());
before(async () => {
  server = await startEventStoreServer({ databaseUrl, onOutage });
  client = EventStoreDBClient.connectionString(server.url);
});

const port = () => Number(new URL(server.url).port);

async function restart(): Promise<void> {
  const before = port();
  await server.close();
  server = await startEventStoreServer({ databaseUrl, onOutage, port: before });
}

describe("the embedded event store", () => {
  it("gives contiguous positions from 1 in the order of commits", async () => {
    const streams = Array.from({ length: 32 }, newStream);
    await Promise.all(
      streams.map(async (stream) => {
        for (let n = 0; n < 10; n += 1) await client.appendToStream(stream, testEvents(2));
      }),
    );
    const positions = (await collect(client.readAll())).map(({ event }) => event!.position!.commit);
    expect(positions).to.deep.equal(positions.map((_, index) => BigInt(index + 1)));
  });

  it("lets nobody else write while it does, and then the next", async () => {
    const second = startEventStoreServer({ databaseUrl, lockWaitMs: 0 });
    await expect(second).to.be.rejectedWith("Another event store server writes to this database");
    await restart();
    await client.appendToStream(newStream(), testEvent());
  });

  it("knows after a restart which events it stored lately", async () => {
    const stream = newStream();
    const events = testEvents(2);
    const first = await client.appendToStream(stream, events);
    await restart();
    await eventually(async () => client.appendToStream(stream, events));
    expect(await client.appendToStream(stream, events)).to.deep.equal(first);
    expect(await numbersIn(client.readStream(stream))).to.deep.equal([0, 1]);
  });

  it("ends open calls so that clients connect again", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvent(1));
    const subscription = follow(client.subscribeToAll());
    await eventually(() => subscription.caughtUp === 1);

    // Waiting for the open calls, it would never end.
    await restart();

    await eventually(() => subscription.error !== undefined);
    const { error } = subscription;
    expect(error instanceof CancelledError || error instanceof UnavailableError).to.equal(true);
    await eventually(() => client.appendToStream(stream, testEvent(2), { expectedRevision: 0n }));
    expect(await numbersIn(client.readStream(stream))).to.deep.equal([1, 2]);
  });

  it("is found by clients that query a cluster for its leader", async () => {
    const discovering = EventStoreDBClient.connectionString(
      `esdb+discover://127.0.0.1:${port()}?tls=false`,
    );
    const stream = newStream();
    await client.appendToStream(stream, testEvent(4));
    expect(await numbersIn(discovering.readStream(stream))).to.deep.equal([4]);
    await discovering.dispose();
  });

  it("answers what it does not serve with an error, and lives on", async () => {
    const session = connect(`http://127.0.0.1:${port()}`);
    const request = session.request({ ":path": "/nowhere", ":method": "POST" });
    request.on("error", () => undefined);
    request.end("not a protobuf message");
    await eventually(() => request.closed);
    session.close();
    const unsupported = client.listAllPersistentSubscriptions();
    await expect(unsupported).to.be.rejectedWith();
    await client.appendToStream(newStream(), testEvent());
  });
});

describe("the embedded event store, given an invalid request", () => {
  for (const [name, stream, event] of [
    ["a stream name with NUL", "test-a\0b", testEvent()],
    ["a stream name of 1 025 bytes", "x".repeat(1_025), testEvent()],
    ["the name of the log", "$all", testEvent()],
    ["no stream name", "", testEvent()],
    ["an event type with NUL", "test-nul", jsonEvent({ type: "a\0b", data: {} })],
    ["an event id that is no UUID", "test-id", { ...testEvent(), id: "x" }],
  ] as const) {
    it(`refuses ${name}, and nobody else's append`, async () => {
      const other = newStream();
      const [refused, stored] = await Promise.allSettled([
        client.appendToStream(stream, event),
        client.appendToStream(other, testEvent(3)),
      ]);
      expect(refused.status).to.equal("rejected");
      expect(stored.status).to.equal("fulfilled");
      expect(await numbersIn(client.readStream(other))).to.deep.equal([3]);
    });
  }

  it("refuses a filter that is no expression, and one that never ends", async () => {
    const { position } = await client.appendToStream(
      newStream(),
      jsonEvent({ type: "a".repeat(40), data: {} }),
    );
    const fromPosition = { commit: position!.commit - 1n, prepare: position!.prepare - 1n };
    for (const regex of ["(", "^(a+)+!$"]) {
      const filter = eventTypeFilter({ regex });
      const subscription = follow(client.subscribeToAll({ fromPosition, filter }));
      await eventually(() => subscription.error !== undefined);
      expect(String(subscription.error)).to.match(/filter expression/);
    }
    await client.appendToStream(newStream(), testEvent());
  });
});

describe("the embedded event store, when the database fails", () => {
  it("reports that an append failed, stores nothing of it, and recovers by itself", async () => {
    // What PostgreSQL says when the disk is full.
    await db.raw(`create function event_store.full() returns trigger language plpgsql as $$ begin
      raise exception 'could not extend file: No space left on device' using errcode = '53100';
    end $$`);
    await db.raw(`create trigger full_disk after insert on event_store.event
      for each row when (new.type = 'TooMuch') execute function event_store.full()`);
    const stream = newStream();
    await client.appendToStream(stream, testEvent(0));
    const tooMuch = [testEvent(1), jsonEvent({ type: "TooMuch", data: {} }), testEvent(2)];

    const failing = client.appendToStream(stream, tooMuch, { expectedRevision: 0n });

    await expect(failing).to.be.rejectedWith(UnavailableError, "No space left on device");
    expect(outages.at(-1)).to.match(/No space left on device/);
    expect(await numbersIn(client.readStream(stream))).to.deep.equal([0]);
    await db.raw("drop trigger full_disk on event_store.event");
    const result = await client.appendToStream(stream, tooMuch, { expectedRevision: 0n });
    expect(result).to.include({ nextExpectedRevision: 3n });
    await expectContiguous();
  });

  it("makes a new connection when the one it writes with is lost, also when idle", async () => {
    const stream = newStream();
    const subscription = follow(client.subscribeToStream(stream));
    await eventually(() => subscription.caughtUp === 1);
    const before = await connections();
    await terminate("ledgerforge event store writer");
    await eventually(async () => (await connections()).some((pid) => !before.includes(pid)));
    for (let n = 0; n < 3; n += 1) {
      await terminate("ledgerforge event store writer");
      const event = testEvent(n);
      const expectedRevision = n === 0 ? "no_stream" : BigInt(n - 1);
      await eventually(() => client.appendToStream(stream, event, { expectedRevision }));
    }
    expect(await numbersIn(client.readStream(stream))).to.deep.equal([0, 1, 2]);
    await eventually(() => subscription.numbers.length === 3);
    expect(subscription.numbers).to.deep.equal([0, 1, 2]);
    await subscription.stop();
    await expectContiguous();
  });

  it("reads again after the connections it reads with were lost", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvent(5));
    await terminate("ledgerforge event store reader");
    const read = () => numbersIn(client.readStream(stream));
    expect(await eventually(read)).to.deep.equal([5]);
  });

  async function connections(): Promise<number[]> {
    const { rows } = await db.raw<{ rows: { pid: number }[] }>(
      `select pid from pg_stat_activity
       where application_name = 'ledgerforge event store writer' and datname = current_database()`,
    );
    return rows.map(({ pid }) => pid);
  }

  async function terminate(applicationName: string): Promise<void> {
    await db.raw(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = ? and datname = current_database()`,
      [applicationName],
    );
  }

  it("does not overwrite what another writer appended meanwhile", async () => {
    const stream = newStream();
    await client.appendToStream(stream, testEvent(0));
    await db.raw(
      `insert into event_store.event select max(pos) + 1, ?, 1, gen_random_uuid(), 'Foreign',
      true, '{"n":77}', '', 0 from event_store.event`,
      [stream],
    );
    const event = testEvent(1);
    const options = { expectedRevision: 0n };
    await expect(client.appendToStream(stream, event, options)).to.be.rejectedWith(
      UnavailableError,
    );
    const error = await client.appendToStream(stream, event, options).catch((reason) => reason);
    expect(error).to.include({ actualVersion: 1n });
    expect(await numbersIn(client.readStream(stream))).to.deep.equal([0, 77]);
  });

  async function expectContiguous(): Promise<void> {
    const { rows } = await db.raw(
      "select count(*)::int as count, max(pos)::int as max from event_store.event",
    );
    expect(rows[0].count).to.equal(rows[0].max);
  }
});
