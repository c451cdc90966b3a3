import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import type { LocalIdKind } from "../../events/core/local-id.ts";
import { type Happened, lastOfDay, type Until } from "../audit/happened.ts";
import type { Projection } from "../core/projection.ts";
import type { Fold } from "./fold.ts";

/** What the rows of a read model come from: the events of a place, or of one numbered thing in it. */
export type PastSource = Readonly<{
  projection: Projection;
  placeId: string;
  thing?: Readonly<{ kind: LocalIdKind; localId: number }> | undefined;
}>;

/** Rows that a read model had after some event. */
type Snapshot = Readonly<{
  /** Of this event. */
  position: bigint;
  /** When the latest of its events happened: by other clocks that may be one before the last. */
  latestAt: Date;
  /** Of the numbered thing. */
  subjectId: string | null;
  rows: Fold;
}>;

export type FoundSource = Readonly<{
  /** The newest that holds no event after the end. */
  snapshot: Snapshot | undefined;
  /** Events since; of a numbered thing without a snapshot none, as its id is not known. */
  happened: readonly Happened[];
}>;

type FoundRow = Readonly<{
  source: number;
  position: bigint;
  stream: string | null;
  revision: bigint | null;
  latest_at: Date;
  subject_id: string | null;
  rows: Fold;
}>;

type FindOptions = Readonly<{ until: Until; countMax: number }>;

type Sql = Readonly<{ text: string; bindings: readonly unknown[] }>;

/**
 * Looks up in one statement what the sources are made of, and whether the first event of a stream had happened. A
 * snapshot counts only where the log has the event that it ends with.
 */
export async function findSources(
  db: Knex,
  stream: string,
  sources: readonly PastSource[],
  options: FindOptions,
): Promise<Readonly<{ hadBegun: boolean; found: readonly FoundSource[] }>> {
  const begun: Sql = {
    text: `select -1 as source, position, stream, revision, null::timestamptz as latest_at, null as subject_id,
        null::jsonb as rows from audit_entry as entry where stream = ? and revision = 0 and ${endOf(options.until).text}`,
    bindings: [stream, ...endOf(options.until).bindings],
  };
  const tables = [
    ...("time" in options.until ? [lastSql(options.until.time)] : []),
    ...sources.map((source, index) => startSql(source, index, options)),
  ];
  const parts = [begun, ...sources.map((source, index) => eventsSql(source, index, options))];
  const joined = (all: readonly Sql[], by: string) => all.map((each) => each.text).join(by);
  const first = tables.length === 0 ? "" : `with ${joined(tables, ", ")} `;
  const text = first + joined(parts, " union all ");
  const bindings = [...tables, ...parts].flatMap((each) => each.bindings) as Knex.RawBinding[];
  const { rows } = await db.raw<{ rows: FoundRow[] }>(text, bindings);
  return {
    hadBegun: rows.some(({ source }) => source === -1),
    found: sources.map((_, index) => foundIn(rows.filter(({ source }) => source === index))),
  };
}

function foundIn(rows: readonly FoundRow[]): FoundSource {
  const start = rows.find(({ stream }) => stream === null);
  const snapshot = start && {
    position: start.position,
    latestAt: start.latest_at,
    subjectId: start.subject_id,
    rows: start.rows,
  };
  const happened = rows.flatMap(({ position, stream, revision }) =>
    stream === null || revision === null ? [] : [{ position, stream, revision }],
  );
  return { snapshot, happened };
}

function lastSql(time: Date): Sql {
  const { text, bindings } = lastOfDay(time);
  return { text: `last (position) as materialized (${text})`, bindings };
}

const endOf = (until: Until): Sql =>
  "position" in until
    ? { text: "entry.position <= ?", bindings: [until.position.toString()] }
    : {
        text: "entry.occurred_at <= ? and entry.position <= (select position from last)",
        bindings: [until.time],
      };

function startSql(source: PastSource, index: number, { until }: FindOptions): Sql {
  const [end, bound] =
    "position" in until
      ? ["kept.position <= ?", until.position.toString()]
      : ["kept.latest_at <= ?", until.time];
  const { place_id, thing, read_model, version } = keyOf(source);
  return {
    text: `start_${index} as materialized (
      select kept.position, kept.latest_at, kept.subject_id, kept.rows from public.as_of_snapshot as kept
      join audit_entry as entry on entry.position = kept.position and entry.event_id = kept.event_id
      where kept.place_id = ? and kept.thing = ? and kept.read_model = ? and kept.version = ? and ${end}
      order by kept.position desc limit 1)`,
    bindings: [place_id, thing, read_model, version, bound],
  };
}

function eventsSql(
  { projection, placeId, thing }: PastSource,
  index: number,
  { until, countMax }: FindOptions,
): Sql {
  const start = `start_${index}`;
  const end = endOf(until);
  const columns = "entry.position, entry.stream, entry.revision";
  const types = [...typesOf([projection])];
  const after = `(select coalesce(max(position), -1) from ${start})`;
  const ofPlace = `unnest(?::text[]) as wanted (type) cross join lateral (
      select ${columns} from audit_entry as entry
      where entry.place_id = ? and entry.type = wanted.type and entry.position > ${after} and ${end.text}
      order by entry.position limit ?) as entry`;
  // Fenced, because indexes by place or type would find what belongs to other things as well.
  const ofThing = `${start} cross join lateral (
      select ${columns}, entry.type from audit_entry as entry
      where entry.subject_id = ${start}.subject_id and entry.position > ${start}.position and ${end.text}
      offset 0) as entry where entry.type = any(?::text[])`;
  const bindings =
    thing === undefined ? [types, placeId, ...end.bindings, countMax] : [...end.bindings, types];
  return {
    text: `select ${index}, position, null, null, latest_at, subject_id, rows from ${start}
      union all
      (select ${index}, ${columns}, null, null, null
       from ${thing === undefined ? ofPlace : ofThing} order by entry.position limit ?)`,
    bindings: [...bindings, countMax],
  };
}

/** Numbers are read from their own streams: a project gives others to pipelines and jobs. */
export const typesOf = (readModels: readonly Projection[]): readonly string[] =>
  [...new Set(readModels.flatMap(({ types }) => [...types]))].filter(
    (type) => type !== "LocalIdAssigned",
  );

/** Who is first writes it: all that are made of the same events are the same. */
export async function keepSnapshot(
  db: Knex,
  source: PastSource,
  last: Pick<Recorded, "id">,
  { position, latestAt, subjectId, rows }: Snapshot,
): Promise<void> {
  const row = {
    ...keyOf(source),
    position,
    event_id: last.id,
    subject_id: subjectId,
    latest_at: latestAt,
    rows: JSON.stringify(rows),
  };
  await db("as_of_snapshot").withSchema("public").insert(row).onConflict().ignore();
}

/** Those of a place that is gone. */
export async function dropSnapshots(db: Knex, placeId: string): Promise<void> {
  await db("as_of_snapshot").withSchema("public").where({ place_id: placeId }).delete();
}

const keyOf = ({ projection: { name, version }, placeId, thing }: PastSource) => ({
  place_id: placeId,
  thing: thing === undefined ? "" : `${thing.kind} ${thing.localId}`,
  read_model: name,
  version,
});
