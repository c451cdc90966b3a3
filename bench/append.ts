import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";

import { startPostgres } from "../src/embedded/postgres/server.ts";
import type { ExpectedRevision } from "../src/platform/event-store/event-store.ts";
import { openEventStore } from "../src/platform/event-store/eventstoredb.ts";
import { spawnEventStore } from "../test/support/process/event-store-child.ts";
import { newEvent, newStream } from "../test/support/store/test-event.ts";

/**
 * Appends a second through the official client to the embedded event store in a process of its own,
 * one event each with an exact expected revision, against bare commits of one row of the same size
 * on the same PostgreSQL. Both are durable: every acknowledgement waited for the disk.
 */
const measureMs = 3_000;

const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
const postgres = await startPostgres({ dataDir });
const server = await spawnEventStore(postgres.url);
const store = openEventStore(server.url);
const pool = new pg.Pool({ connectionString: postgres.url, max: 32 });
// A pool that ended may still have sockets open when the server goes.
pool.on("error", () => undefined);
try {
  await pool.query("create table bare (id bigserial primary key, data bytea not null)");
  const row = Buffer.from(JSON.stringify(newEvent()));
  await run(1, bareCommits(row), 300);
  await run(1, appends(), 300);
  for (const writers of [1, 32]) {
    const commits = await run(writers, bareCommits(row), measureMs);
    const appended = await run(writers, appends(), measureMs);
    process.stdout.write(
      `append, ${writers} writers: ${appended}/s; bare commit: ${commits}/s; ` +
        `ratio ${(appended / commits).toFixed(2)}\n`,
    );
  }
} finally {
  await store.close();
  await server.kill();
  await pool.end();
  await postgres.close();
  await rm(dataDir, { recursive: true, force: true });
}

type Writer = () => Promise<unknown>;

function bareCommits(row: Buffer): () => Writer {
  return () => () => pool.query("insert into bare (data) values ($1)", [row]);
}

/** Each writer has a stream of its own and expects the revision it wrote last. */
function appends(): () => Writer {
  return () => {
    const stream = newStream();
    let expected: ExpectedRevision = "none";
    return async () => {
      expected = (await store.append(stream, expected, [newEvent()])).revision;
    };
  };
}

/** How often a second so many writers, each waiting for its own answer, got one. */
async function run(writers: number, open: () => Writer, durationMs: number): Promise<number> {
  const started = performance.now();
  let count = 0;
  const writing = Array.from({ length: writers }, async () => {
    const write = open();
    while (performance.now() - started < durationMs) {
      await write();
      count += 1;
    }
  });
  await Promise.all(writing);
  return Math.round((count * 1_000) / (performance.now() - started));
}
