import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

import { noRevision, type StoredEvent } from "./event.ts";
import { migrate } from "./schema.ts";
import { type Place, type Queryable, readRecentPlaces } from "./storage.ts";

/** Advisory locks are named by a number; this one is ours in every database. */
const writerLock = 7_355_608_442_017n;

/** How many of the newest event ids are remembered for appends that expect any revision. */
export const recentPlacesMax = 50_000;

type Assumed = ReadonlyMap<string, bigint>;

/** The one connection that may write: it holds the writer lock for as long as it lives. */
export type WriteSession = Readonly<{
  db: Queryable;
  /** Position of the newest event when the session began; 0 for an empty log. */
  head: bigint;
  /** Newest events when the session began, oldest first. */
  recent: readonly Place[];
  /** Aborts when the connection is lost. */
  lost: AbortSignal;
  /**
   * Writes all events in one transaction; they are durable when this resolves.
   *
   * @param assumed last revisions of streams, -1 of those without events; false when one of them is another: nothing
   *   is written then
   */
  insert: (events: readonly StoredEvent[], assumed: Assumed) => Promise<boolean>;
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
      insert: (events, assumed) => insert(client, events, assumed),
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

/** Nearly every append is one event: arrays of one take longer to write and to read than the values. */
const insertOneText = `insert into event_store.event (${columns})
  select $1::bigint, $2::text, $3::bigint, $4::uuid, $5::text, $6::boolean, $7::bytea, $8::bytea, $9::bigint`;

/** Nobody else writes, so what holds when the statement begins holds when it ends. */
const ifAssumed = ` where not exists (
  select from unnest($10::text[], $11::bigint[]) as assumed (stream, rev)
  where assumed.rev <> coalesce((
    select e.rev from event_store.event e where e.stream = assumed.stream collate "C"
    order by e.rev desc limit 1
  ), ${noRevision}))`;

async function insert(
  client: pg.Client,
  events: readonly StoredEvent[],
  assumed: Assumed,
): Promise<boolean> {
  const rows = events.map(valuesOf);
  const [one] = rows;
  const isOne = one !== undefined && rows.length === 1;
  const values: unknown[] = isOne ? [...one] : columnsOf(rows);
  const [name, text] = isOne ? ["append-one", insertOneText] : ["append", insertText];
  if (assumed.size === 0) {
    await client.query({ name, text, values });
    return true;
  }
  values.push([...assumed.keys()], [...assumed.values()]);
  const { rowCount } = await client.query({ name: `${name}-if`, text: text + ifAssumed, values });
  return rowCount === events.length;
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

const columnsOf = (rows: readonly (readonly unknown[])[]): unknown[][] =>
  columns.split(", ").map((_, column) => rows.map((row) => row[column]));

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
