import type { ClientBase, Pool } from "pg";

import { noRevision, type StoredEvent, tombstoneRevision } from "./event.ts";

/** A pool for reading, or the connection of the writer. */
export type Queryable = Pick<ClientBase | Pool, "query">;

/** The end of a stream: its last revision and, for a metadata stream, what that event says. */
export type Head = Readonly<{ revision: bigint; metadata: Uint8Array | undefined }>;

export const emptyHead: Head = { revision: noRevision, metadata: undefined };

/** Where an event id was stored. */
export type Place = Readonly<{ stream: string; id: string; revision: bigint; position: bigint }>;

type Row = Readonly<{
  pos: string;
  stream: string;
  rev: string;
  id: string;
  type: string;
  is_json: boolean;
  data: Buffer;
  meta: Buffer;
  created: string;
}>;

const columns = "pos, stream, rev, id, type, is_json, data, meta, created";

/** The log from `from` (inclusive) upwards. */
export async function readAllForwards(
  db: Queryable,
  from: bigint,
  countMax: number,
): Promise<readonly StoredEvent[]> {
  const text = `select ${columns} from event_store.event where pos >= $1 order by pos limit $2`;
  return eventsOf(await db.query<Row>({ name: "all-up", text, values: [from, countMax] }));
}

/** The log before `before` (exclusive), newest first. */
export async function readAllBackwards(
  db: Queryable,
  before: bigint,
  countMax: number,
): Promise<readonly StoredEvent[]> {
  const text = `select ${columns} from event_store.event where pos < $1 order by pos desc limit $2`;
  return eventsOf(await db.query<Row>({ name: "all-down", text, values: [before, countMax] }));
}

export type StreamRange = Readonly<{
  stream: string;
  /** First revision wanted, inclusive. */
  from: bigint;
  /** Last revision wanted, inclusive; a tombstone is never among the events. */
  to: bigint;
  /** Older events are left out, in ticks. */
  createdMin: bigint;
  countMax: number;
}>;

export async function readStreamForwards(
  db: Queryable,
  range: StreamRange,
): Promise<readonly StoredEvent[]> {
  return eventsOf(await db.query<Row>(streamQuery("stream-up", "asc", range)));
}

export async function readStreamBackwards(
  db: Queryable,
  range: StreamRange,
): Promise<readonly StoredEvent[]> {
  return eventsOf(await db.query<Row>(streamQuery("stream-down", "desc", range)));
}

function streamQuery(name: string, order: "asc" | "desc", range: StreamRange) {
  const text = `select ${columns} from event_store.event
    where stream = $1 and rev between $2 and $3 and rev < ${tombstoneRevision} and created >= $4
    order by rev ${order} limit $5`;
  const { stream, from, to, createdMin, countMax } = range;
  return { name, text, values: [stream, from, to, createdMin, countMax] };
}

/** The ends of all these streams in one query; streams without events are in the answer too. */
export async function readHeads(
  db: Queryable,
  streams: readonly string[],
): Promise<ReadonlyMap<string, Head>> {
  const heads = new Map(streams.map((stream) => [stream, emptyHead]));
  if (streams.length === 0) return heads;
  const text = `select s.stream, e.rev, e.data
    from unnest($1::text[]) as s(stream), lateral (
      select rev, case when starts_with(stream, '$$') then data end as data
      from event_store.event where stream = s.stream collate "C" order by rev desc limit 1
    ) e`;
  const values = [streams];
  type HeadRow = Pick<Row, "stream" | "rev"> & { data: Buffer | null };
  const { rows } = await db.query<HeadRow>({ name: "heads", text, values });
  for (const row of rows) {
    heads.set(row.stream, { revision: BigInt(row.rev), metadata: row.data ?? undefined });
  }
  return heads;
}

/** Ids stored at `count` revisions of a stream, beginning with `from`. */
export async function readPlaces(
  db: Queryable,
  stream: string,
  from: bigint,
  count: number,
): Promise<readonly Place[]> {
  const text = `select pos, stream, rev, id from event_store.event
    where stream = $1 and rev between $2 and $3 order by rev`;
  const values = [stream, from, from + BigInt(count) - 1n];
  return placesOf(await db.query<Row>({ name: "places", text, values }));
}

/** Places of the newest events, oldest first. */
export async function readRecentPlaces(db: Queryable, countMax: number): Promise<readonly Place[]> {
  const text = `select pos, stream, rev, id from event_store.event order by pos desc limit $1`;
  return placesOf(await db.query<Row>(text, [countMax])).reverse();
}

function placesOf({ rows }: { rows: readonly Row[] }): Place[] {
  return rows.map(({ stream, id, rev, pos }) => ({
    stream,
    id,
    revision: BigInt(rev),
    position: BigInt(pos),
  }));
}

function eventsOf({ rows }: { rows: readonly Row[] }): readonly StoredEvent[] {
  return rows.map((row) => ({
    position: BigInt(row.pos),
    stream: row.stream,
    revision: BigInt(row.rev),
    id: row.id,
    type: row.type,
    isJson: row.is_json,
    data: row.data,
    metadata: row.meta,
    created: BigInt(row.created),
  }));
}
