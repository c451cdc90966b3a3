import { eventDigest } from "../../events/core/canonical.ts";
import type { Recorded } from "../../events/core/event.ts";
import { PackageId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { packageVersionStream } from "../../events/package/version.ts";
import { packageVersionIdOf } from "../../package/core/coordinates.ts";
import { storableText } from "../../platform/storable-text.ts";
import { type Change, derive, put, statement } from "../core/change.ts";
import { everyType } from "../core/every-type.ts";
import type { Projection, Tx } from "../core/projection.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { write } from "../core/write.ts";
import { placeNamedBy, subjectId } from "./subject.ts";

/** One row an event: enough to search by; the content is read from the log. */
const entries = defineTable({
  name: "audit_entry",
  columns: {
    position: "bigint",
    event_id: "text",
    stream: "text",
    revision: "bigint",
    type: "text",
    /** Of the thing it is about; see subject.ts. */
    subject_id: "text",
    actor_id: "uuid null",
    actor_alias: "text null",
    via: "text",
    token_id: "uuid null",
    /** The project, team, company or account it belongs to; null for what belongs to none. */
    place_id: "uuid null",
    /** Decrypted at reading, so that it is gone when the person is forgotten. */
    ip: column<Sealed | null>("text null"),
    occurred_at: "timestamptz",
    correlation_id: "text",
    causation_id: "text null",
    /** Of the event, see events/canonical.ts: shows which one was changed. */
    digest: "bytea",
  },
  key: ["position"],
  unique: ["(stream, revision)"],
  lateIndexes: [
    "(place_id, position)",
    "(place_id, type, position)",
    "(type, position)",
    "(actor_id, position)",
    "(subject_id, position)",
    "(correlation_id, position)",
    "(event_id)",
  ],
});

export type AuditEntryRow = RowOf<typeof entries>;

/** Which positions a day's events have: a time is found by position. */
const days = defineTable({
  name: "audit_day",
  columns: { day: "date", first_position: "bigint", last_position: "bigint" },
  key: ["day"],
});

/** Names of tokens, OAuth applications and agents, also of those that are gone. */
const names = defineTable({
  name: "audit_name",
  columns: { id: "uuid", name: "text" },
  key: ["id"],
});

export type AuditNameRow = RowOf<typeof names>;

export const auditEntryProjection: Projection = {
  name: "audit_entry",
  version: 5,
  tables: [entries, days, names],
  types: everyType,
  async apply(tx, events) {
    const places = await placesOfStreams(tx, events);
    const rows = events.map((event) => rowOf(event, places));
    await write(tx, [
      ...rows.map((row) => put(entries, row)),
      ...rows.map(dayOf),
      ...events.flatMap(nameIn),
    ]);
  },
};

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

const noteDay = `
  insert into audit_day (day, first_position, last_position)
  select (occurred_at at time zone 'UTC')::date, min(position), max(position)
  from audit_entry where position = any(?) group by 1
  on conflict (day) do update set
    first_position = least(audit_day.first_position, excluded.first_position),
    last_position = greatest(audit_day.last_position, excluded.last_position)`;

const dayOf = ({ position }: AuditEntryRow): Change => derive(noteDay, String(position));

/** An authorization has the name of its application. */
const nameAuthorization = `
  insert into audit_name (id, name) select ?, name from audit_name where id = ?
  on conflict (id) do update set name = excluded.name`;

/** What the event says of the name of a token, an OAuth application or an agent. */
function nameIn({ type, data }: Recorded): readonly Change[] {
  if (type === "AccessTokenCreated") return named(data["tokenId"], data["name"]);
  if (type === "OAuthApplicationCreated")
    return named(data["applicationId"], nameOf(data["details"]));
  if (type === "AgentRegistered") return named(data["agentId"], nameOf(data["settings"]));
  if (type !== "OAuthAuthorizationApproved") return [];
  const { authorizationId, applicationId } = data;
  if (typeof authorizationId !== "string") return [];
  return [statement(nameAuthorization, [authorizationId, String(applicationId)])];
}

const nameOf = (details: unknown): unknown =>
  (details as Readonly<Record<string, unknown>> | undefined)?.["name"];

const named = (id: unknown, name: unknown): readonly Change[] =>
  typeof id === "string" && typeof name === "string"
    ? [put(names, { id, name: storableText(name) })]
    : [];
