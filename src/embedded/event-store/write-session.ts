import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

import type { StoredEvent } from "./event.ts";
import { migrate } from "./schema.ts";
import { type Place, type Queryable, readRecentPlaces } from "./storage.ts";

/** Advisory locks are named by a number; this one is ours in every database. */
const writerLock = 7_355_608_442_017n;

/** How many of the newest event ids are remembered for appends that expect any revision. */
export const recentPlacesMax = 50_000;

/** The one connection that may write: it holds the writer lock for as long as it lives. */
export type WriteSession = Readonly<{
  db: Queryable;
  /** Position of the newest event when the session began; 0 for an empty log. */
  head: bigint;
  /** Newest events when the session began, oldest first. */
  recent: readonly Place[];
  /** Aborts when the connection is lost. */
  lost: AbortSignal;
  /** Writes all events in one transaction; they are durable when this resolves. */
  insert: (events: readonly StoredEvent[]) => Promise<void>;
  close: () => Promise<void>;
}>;

/**
 * Connects, takes the writer lock and reads where the log ends. The lock lives as long as the
 * connection: a writer that lost its connection cannot write any more, and the next one sees
 * everything it committed.
 *
 * @throws when the database cannot be reached, or another writer holds the lock after `lockWaitMs`.
 */
export async function openWriteSession(
  databaseUrl: string,
  lockWaitMs: number,
  signal: AbortSignal,
): Promise<WriteSession> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: "ledgerforge event store writer",
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  const lost = new AbortController();
  client.on("error", () => lost.abort());
  client.on("end", () => lost.abort());
  try {
    await client.connect();
    await takeLock(client, lockWaitMs, signal);
    // An acknowledged append must survive a crash, whatever the server's default is.
    await client.query("set synchronous_commit = on");
    await migrate(client);
    const recent = await readRecentPlaces(client, recentPlacesMax);
    return {
      db: client,
      head: recent.at(-1)?.position ?? 0n,
      recent,
      lost: lost.signal,
      insert: (events) => insert(client, events),
      close: () => client.end(),
    };
  } catch (error) {
    // The connection is given up; how its end fares is of no interest beside the error itself.
    void client.end().catch(() => undefined);
    throw error;
  }
}

async function takeLock(client: pg.Client, waitMs: number, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + waitMs;
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>(
      "select pg_try_advisory_lock($1) as locked",
      [writerLock],
    );
    if (rows[0]?.locked === true) return;
    if (Date.now() >= deadline) {
      throw new Error("Another event store server writes to this database");
    }
    await sleep(50, undefined, { signal });
  }
}

const columns = "pos, stream, rev, id, type, is_json, data, meta, created";

const insertText = `insert into event_store.event (${columns})
  select * from unnest($1::bigint[], $2::text[], $3::bigint[], $4::uuid[], $5::text[],
    $6::boolean[], $7::bytea[], $8::bytea[], $9::bigint[])`;

async function insert(client: pg.Client, events: readonly StoredEvent[]): Promise<void> {
  const rows = events.map(valuesOf);
  const values = columns.split(", ").map((_, column) => rows.map((row) => row[column]));
  await client.query({ name: "append", text: insertText, values });
}

const valuesOf = (event: StoredEvent): readonly unknown[] => [
  event.position,
  event.stream,
  event.revision,
  event.id,
  event.type,
  event.isJson,
  asBuffer(event.data),
  asBuffer(event.metadata),
  event.created,
];

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
