import { eventDigest } from "../../events/core/canonical.ts";
import type { Recorded } from "../../events/core/event.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { allOf } from "../../platform/pipelined.ts";
import { storableText } from "../../platform/storable-text.ts";
import { everyType } from "../core/every-type.ts";
import { type ColumnTypes, insertColumns, merging } from "../core/insert-columns.ts";
import type { Projection, Tx } from "../core/projection.ts";
import { placeNamedBy, subjectId } from "./subject.ts";

/** One a event: enough to find what somebody looks for; what it says is read from the log. */
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
  /** Opened when somebody asks, so that it is gone when the person is forgotten. */
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
  version: 2,
  tables: ["audit_entry", "audit_day", "audit_name"],
  async create(tx) {
    await tx.schema.createTable("audit_entry", (table) => {
      table.bigInteger("position").primary();
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
    await tx.schema.alterTable("audit_entry", (table) => {
      table.index(["place_id", "position"]);
      table.index(["place_id", "type", "position"]);
      table.index(["type", "position"]);
      table.index(["actor_id", "position"]);
      table.index(["subject_id", "position"]);
      table.index(["correlation_id", "position"]);
      table.index(["event_id"]);
    });
  },
  types: everyType,
  apply: (tx, event) => applyAll(tx, [event]),
  applyAll,
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

async function applyAll(tx: Tx, events: readonly Recorded[]): Promise<void> {
  const places = await placesOfStreams(tx, events);
  const rows = events.map((event) => rowOf(event, places));
  await allOf([
    insertColumns(tx, { table: "audit_entry", types: columns, rows, onConflict: merged }),
    noteDays(tx, rows),
  ]);
  await noteNames(tx, events);
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

/** A package belongs where its repository does, or to the project whose registry it is in. */
function parentStream({ data }: Recorded): string | undefined {
  const { registryId } = data;
  return typeof registryId === "string" ? `registryRepository-${registryId}` : undefined;
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

async function noteDays(tx: Tx, rows: readonly AuditEntryRow[]): Promise<void> {
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
  const noted = [...days].map(([day, { first, last }]) => ({
    day: new Date(day * dayMs).toISOString().slice(0, 10),
    first_position: first,
    last_position: last,
  }));
  await tx("audit_day")
    .insert(noted)
    .onConflict("day")
    .merge({
      first_position: tx.raw("least(audit_day.first_position, excluded.first_position)"),
      last_position: tx.raw("greatest(audit_day.last_position, excluded.last_position)"),
    });
}

async function noteNames(tx: Tx, events: readonly Recorded[]): Promise<void> {
  for (const { type, data } of events) {
    if (type === "AccessTokenCreated") await noteName(tx, data["tokenId"], data["name"]);
    if (type === "OAuthApplicationCreated") {
      const details = data["details"] as Readonly<Record<string, unknown>> | undefined;
      await noteName(tx, data["applicationId"], details?.["name"]);
    }
    if (type === "OAuthAuthorizationApproved") {
      const id = String(data["applicationId"]);
      const application = await tx<AuditNameRow>("audit_name").where({ id }).first();
      await noteName(tx, data["authorizationId"], application?.name);
    }
  }
}

async function noteName(tx: Tx, id: unknown, name: unknown): Promise<void> {
  if (typeof id !== "string" || typeof name !== "string") return;
  await tx<AuditNameRow>("audit_name")
    .insert({ id, name: storableText(name) })
    .onConflict("id")
    .merge();
}
