import type { Knex } from "knex";

import { eventDigest } from "../../events/core/canonical.ts";
import type { Recorded } from "../../events/core/event.ts";
import { PackageId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { packageVersionStream } from "../../events/package/version.ts";
import { packageVersionIdOf } from "../../platform/package/coordinates.ts";
import { arrayBytes } from "../../platform/postgres/array-bytes.ts";
import { allOf } from "../../platform/postgres/pipelined.ts";
import { storableText } from "../../platform/storable-text.ts";
import { everyType } from "../core/every-type.ts";
import { type ColumnTypes, columnOf, insertColumns, merging } from "../core/insert-columns.ts";
import type { Projection, ProjectionContext, Tx } from "../core/projection.ts";
import { placeNamedBy, subjectId } from "./subject.ts";

/** One row an event: enough to search by; the content is read from the log. */
export type AuditEntryRow = Readonly<{
  position: bigint;
  event_id: string;
  stream: string;
  revision: bigint;
  type: string;
  /** Of the thing it is about; see subject.ts. */
  subject_id: string;
  actor_id: string | null;
  actor_alias: string | null;
  via: string;
  token_id: string | null;
  /** The project, team, company or account it belongs to; null for what belongs to none. */
  place_id: string | null;
  /** Decrypted at reading, so that it is gone when the person is forgotten. */
  ip: Sealed | null;
  occurred_at: Date;
  correlation_id: string;
  causation_id: string | null;
  /** Of the event, see events/canonical.ts: shows which one was changed. */
  digest: Buffer;
}>;

/** Names of tokens and OAuth applications, also of those that are gone. */
export type AuditNameRow = Readonly<{ id: string; name: string }>;

export const auditEntryProjection: Projection = {
  name: "audit_entry",
  version: 3,
  tables: ["audit_entry", "audit_day", "audit_name"],
  async create(tx) {
    await tx.schema.createTable("audit_entry", (table) => {
      table.bigInteger("position").notNullable();
      for (const column of ["event_id", "stream"]) table.text(column).notNullable();
      table.bigInteger("revision").notNullable();
      for (const column of ["type", "subject_id"]) table.text(column).notNullable();
      table.uuid("actor_id");
      table.text("actor_alias");
      table.text("via").notNullable();
      table.uuid("token_id");
      table.uuid("place_id");
      table.text("ip");
      table.timestamp("occurred_at").notNullable();
      table.text("correlation_id").notNullable();
      table.text("causation_id");
      table.binary("digest").notNullable();
      table.unique(["stream", "revision"]);
    });
    // Which positions a day's events have: a time is found by position.
    await tx.schema.createTable("audit_day", (table) => {
      table.date("day").primary();
      table.bigInteger("first_position").notNullable();
      table.bigInteger("last_position").notNullable();
    });
    await tx.schema.createTable("audit_name", (table) => {
      table.uuid("id").primary();
      table.text("name").notNullable();
    });
  },
  async index(tx) {
    await tx.schema.alterTable("audit_entry", (table) => void table.primary(["position"]));
  },
  indexes: [
    ["place_id", "position"],
    ["place_id", "type", "position"],
    ["type", "position"],
    ["actor_id", "position"],
    ["subject_id", "position"],
    ["correlation_id", "position"],
    ["event_id"],
  ].map((names) => async (tx: Tx) => {
    await tx.schema.alterTable("audit_entry", (table) => void table.index(names));
  }),
  types: everyType,
  apply: (tx, event, context) => applyAll(tx, [event], context),
  applyAll,
  statements: async (db, events) => {
    const places = new Map<string, string>();
    const lookups = lookupsOf(events);
    const rows = events.map((event) => rowOf(event, places));
    const entries = entriesPlaced(rows, lookups);
    const days = notedDays(rows);
    return [
      db.raw(`with days as (${days.text}) ${entries.text}`, [...days.values, ...entries.values]),
      ...events.flatMap((event) => nameStatement(db, event) ?? []),
    ];
  },
};

const columns: ColumnTypes<AuditEntryRow> = {
  position: "bigint",
  event_id: "text",
  stream: "text",
  revision: "bigint",
  type: "text",
  subject_id: "text",
  actor_id: "uuid",
  actor_alias: "text",
  via: "text",
  token_id: "uuid",
  place_id: "uuid",
  ip: "text",
  occurred_at: "timestamptz",
  correlation_id: "text",
  causation_id: "text",
  digest: "bytea",
};
const merged = merging(columns, ["position"]);

async function applyAll(
  tx: Tx,
  events: readonly Recorded[],
  { isBuild }: ProjectionContext,
): Promise<void> {
  const places = await placesOfStreams(tx, events);
  const rows = events.map((event) => rowOf(event, places));
  const days = notedDays(rows);
  const onConflict = isBuild ? undefined : merged;
  await allOf([
    insertColumns(tx, { table: "audit_entry", types: columns, rows, onConflict }),
    tx.raw(days.text, days.values),
    ...events.flatMap((event) => nameStatement(tx, event) ?? []),
  ]);
}

function rowOf(event: Recorded, places: Map<string, string>): AuditEntryRow {
  const { id, position, stream, revision, type, metadata } = event;
  const named = placeNamedBy(event) ?? places.get(parentStream(event) ?? stream);
  if (named !== undefined) places.set(stream, named);
  return {
    position,
    event_id: id,
    stream,
    revision,
    type,
    subject_id: subjectId(event),
    actor_id: metadata.actor.userId,
    actor_alias: metadata.actor.alias,
    via: metadata.actor.via,
    token_id: metadata.actor.tokenId,
    place_id: places.get(stream) ?? null,
    ip: metadata.ip,
    occurred_at: new Date(metadata.occurredAt),
    correlation_id: metadata.correlationId,
    causation_id: metadata.causationId,
    digest: eventDigest(event),
  };
}

/** For each event that does not name its place: the stream whose earlier events do. */
function lookupsOf(events: readonly Recorded[]): readonly (string | null)[] {
  const known = new Map<string, string | null>();
  return events.map((event) => {
    const stream = parentStream(event) ?? event.stream;
    const lookup = placeNamedBy(event) === undefined ? (known.get(stream) ?? stream) : null;
    known.set(event.stream, lookup);
    return lookup;
  });
}

/** A part of a statement and its parameters. */
type Part = Readonly<{ text: string; values: readonly Knex.Value[] }>;

/** Inserts entries, whose places PostgreSQL looks up where the events do not name them. */
function entriesPlaced(rows: readonly AuditEntryRow[], lookups: readonly (string | null)[]): Part {
  const names = Object.keys(columns) as (keyof AuditEntryRow)[];
  const isPlaced = lookups.every((lookup) => lookup === null);
  const selected = names.map((name) =>
    name === "place_id" && !isPlaced
      ? `coalesce(given.place_id, (select known.place_id from audit_entry as known
           where known.stream = given.lookup and known.place_id is not null limit 1))`
      : `given.${name}`,
  );
  const all = names.map(
    (name) => [name, columns[name], columnOf(columns[name], rows, name)] as const,
  );
  const lookup = ["lookup", "text", arrayBytes("text", lookups)] as const;
  const given = isPlaced ? all : [...all, lookup];
  return {
    text: `insert into audit_entry (${names.join(", ")}) select ${selected.join(", ")}
     from unnest(${given.map(([, type]) => `?::${type}[]`).join(", ")})
       as given (${given.map(([name]) => name).join(", ")}) on conflict ${merged}`,
    values: given.map(([, , value]) => value),
  };
}

/** Which field of a tag's event names the version that it is given to. */
const versionFields: Readonly<Record<string, string>> = {
  ContainerTagSet: "digest",
  PackageTagSet: "version",
};

/**
 * A package belongs where its repository does, or to the project whose registry it is in; the key of a repository where
 * that does, and a tag where the version does that it is given to.
 */
function parentStream({ type, data }: Recorded): string | undefined {
  const ofRepository = type === "RegistrySigningKeyCreated" ? data["repositoryId"] : undefined;
  const registryId = data["registryId"] ?? ofRepository;
  if (typeof registryId === "string") return `registryRepository-${registryId}`;
  const version = data[versionFields[type] ?? ""];
  const packageId = PackageId.safeParse(data["packageId"]);
  if (typeof version !== "string" || !packageId.success) return undefined;
  return packageVersionStream(packageVersionIdOf(packageId.data, { version, key: version }));
}

/**
 * The first event of a stream that has a place names it for those that follow. One row is read of each stream, however
 * long it is.
 */
async function placesOfStreams(tx: Tx, events: readonly Recorded[]): Promise<Map<string, string>> {
  const unnamed = events.filter((event) => placeNamedBy(event) === undefined);
  const streams = [...new Set(unnamed.map((event) => parentStream(event) ?? event.stream))];
  if (streams.length === 0) return new Map();
  const { rows } = await tx.raw<{ rows: { stream: string; place_id: string }[] }>(
    `select wanted.stream, named.place_id from unnest(?::text[]) as wanted (stream)
     cross join lateral (
       select place_id from audit_entry
       where stream = wanted.stream and place_id is not null
       order by revision limit 1
     ) as named`,
    [streams],
  );
  return new Map(rows.map((row) => [row.stream, row.place_id]));
}

const dayMs = 86_400_000;

function notedDays(rows: readonly AuditEntryRow[]): Part {
  const days = new Map<number, { first: bigint; last: bigint }>();
  for (const { position, occurred_at } of rows) {
    const day = Math.floor(occurred_at.getTime() / dayMs);
    const known = days.get(day);
    const { first = position, last = position } = known ?? {};
    days.set(day, {
      first: position < first ? position : first,
      last: position > last ? position : last,
    });
  }
  const named = [...days.keys()].map((day) => new Date(day * dayMs).toISOString().slice(0, 10));
  const noted = [...days.values()];
  return {
    text: `insert into audit_day (day, first_position, last_position)
     select * from unnest(?::date[], ?::bigint[], ?::bigint[])
     on conflict (day) do update set
       first_position = least(audit_day.first_position, excluded.first_position),
       last_position = greatest(audit_day.last_position, excluded.last_position)`,
    values: [named, noted.map(({ first }) => String(first)), noted.map(({ last }) => String(last))],
  };
}

/** Notes what the event says of the name of a token or an OAuth application; undefined when it says nothing. */
function nameStatement(db: Knex, { type, data }: Recorded): Knex.Raw | undefined {
  if (type === "AccessTokenCreated") return naming(db, data["tokenId"], data["name"]);
  if (type === "OAuthApplicationCreated") {
    const details = data["details"] as Readonly<Record<string, unknown>> | undefined;
    return naming(db, data["applicationId"], details?.["name"]);
  }
  if (type !== "OAuthAuthorizationApproved") return undefined;
  const { authorizationId, applicationId } = data;
  if (typeof authorizationId !== "string") return undefined;
  return db.raw(
    `insert into audit_name (id, name) select ?, name from audit_name where id = ? ${renamed}`,
    [authorizationId, String(applicationId)],
  );
}

const renamed = "on conflict (id) do update set name = excluded.name";

function naming(db: Knex, id: unknown, name: unknown): Knex.Raw | undefined {
  if (typeof id !== "string" || typeof name !== "string") return undefined;
  return db.raw(`insert into audit_name (id, name) values (?, ?) ${renamed}`, [
    id,
    storableText(name),
  ]);
}
