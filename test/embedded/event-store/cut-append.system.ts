import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import pg from "pg";

import { startEventStoreServer } from "../../../src/embedded/event-store/server.ts";
import { randomNumbers } from "../../support/app/random.ts";
import { nodeArgs } from "../../support/compiled.ts";
import { beginAppend, streamsClient } from "../../support/process/cut-append.ts";
import { testDatabase } from "../../support/store/database.ts";
import { newStream } from "../../support/store/test-event.ts";

/** The server itself: one at EVENTSTORE_URL cuts appends in its own way. */
const closing: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
});
const { url: databaseUrl } = await testDatabase();
const server = await startEventStoreServer({ databaseUrl });
closing.push(server.close);
const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
closing.push(() => pool.end());
const client = streamsClient(server.url);
closing.push(async () => client.close());

/** `CUTS=1000 npx mocha test/embedded/event-store/cut-append.system.ts` cuts off a thousand each way. */
const cuts = Number(process.env["CUTS"] ?? 100);
const seed = Number(process.env["CUTS_SEED"] ?? 17);
const random = randomNumbers(seed);

/** How many events each stream holds, once everything sent before was decided. */
async function stored(streams: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const last = beginAppend(client, newStream());
  last.send(1, 1);
  last.end();
  expect(await last.answered).to.equal(null);
  const { rows } = await pool.query<{ stream: string; count: string }>(
    "select stream, count(*) from event_store.event where stream = any($1) group by stream",
    [streams],
  );
  return new Map(rows.map(({ stream, count }) => [stream, Number(count)]));
}

async function cut(stream: string, way: "cancel" | "deadline"): Promise<void> {
  const deadline = Date.now() + 1 + random(40);
  const append = beginAppend(client, stream, way === "deadline" ? { deadline } : {});
  for (let parts = random(4); parts >= 0; parts -= 1) {
    append.send(random(6), random(20_000));
    // Cuts meet all states of the transport, so some of them come later than others.
    if (random(2) === 0) await sleep(random(12));
  }
  if (way === "cancel") append.cancel();
  expect(await append.answered).to.be.instanceOf(Error);
}

describe("a plain append that is cut off", () => {
  for (const way of ["cancel", "deadline"] as const) {
    it(`stores nothing, in ${cuts} random cuts by ${way}`, async function () {
      this.timeout(60_000 + cuts * 200);
      const streams = Array.from({ length: cuts }, () => newStream());
      for (let first = 0; first < streams.length; first += 15) {
        await Promise.all(streams.slice(first, first + 15).map((stream) => cut(stream, way)));
      }
      expect([...(await stored(streams))]).to.deep.equal([]);
    });
  }

  it("stores all or nothing when it is cut after its end", async () => {
    const streams = Array.from({ length: 60 }, () => newStream());
    for (const stream of streams) {
      const append = beginAppend(client, stream);
      append.send(7, random(5_000));
      append.end();
      await sleep(random(4));
      append.cancel();
      await append.answered;
    }
    for (const count of (await stored(streams)).values()) expect(count).to.equal(7);
  });

  it("stores nothing of 60 appends of killed clients", async () => {
    const streams = Array.from({ length: 60 }, () => newStream());
    for (let first = 0; first < streams.length; first += 20) {
      const child = await sending(streams.slice(first, first + 20));
      await sleep(random(30));
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    expect([...(await stored(streams))]).to.deep.equal([]);
  });

  it("stores all events of one that ends in order", async () => {
    const streams = Array.from({ length: 60 }, () => newStream());
    await Promise.all(
      streams.map(async (stream, index) => {
        const append = beginAppend(client, stream);
        append.send(1 + index, random(5_000));
        append.end();
        expect(await append.answered).to.equal(null);
      }),
    );
    const counts = await stored(streams);
    expect(streams.map((stream) => counts.get(stream))).to.deep.equal(
      streams.map((_, index) => 1 + index),
    );
  });
});

/** A client in a process of its own, once it sends. */
async function sending(streams: readonly string[]): Promise<ChildProcess> {
  const program = nodeArgs("test/support/process/cut-append-process.ts");
  const child = spawn(process.execPath, [...program, server.url, ...streams], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(createInterface(child.stdout), "line");
  return child;
}
