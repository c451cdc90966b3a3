import type { Knex } from "knex";

import { Uuid } from "../../events/core/ids.ts";
import type { AuditEntryRow, AuditNameRow } from "./entry.ts";
import { indexable } from "./subject.ts";

/** Everything that is given has to hold. */
export type AuditFilter = Readonly<{
  /** Id of a project, team, company or account. */
  placeId?: string;
  actorId?: string;
  /** Id of the thing it is about; the name of a branch or tag. */
  subjectId?: string;
  /** The request, job or call that everything followed from. */
  correlationId?: string;
  /** The event that caused it; looked for among what the other filters leave. */
  causationId?: string;
  /** Event types, any of them; empty: none fits. */
  types?: readonly string[];
  since?: Date;
  /** The first instant after those meant. */
  until?: Date;
}>;

export type AuditRange = Readonly<{
  /** Positions, both excluded. */
  after?: bigint;
  before?: bigint;
  order: "newest" | "oldest";
  limit: number;
}>;

/**
 * Entries of the audit in the order of their positions. Every filter ends at an index, so a page takes
 * as long however many entries there are; only those of actor, thing and time together are looked through.
 */
export async function listAuditEntries(
  db: Knex,
  filter: AuditFilter,
  range: AuditRange,
): Promise<readonly AuditEntryRow[]> {
  const { types } = filter;
  if (types?.length === 0) return [];
  const within = await positionsOf(db, filter);
  const order = range.order === "newest" ? "desc" : "asc";
  const query = () =>
    db<AuditEntryRow>("audit_entry")
      .where((where) => {
        narrow(where, filter, range);
        if (within.from !== undefined) where.andWhere("position", ">=", within.from);
        if (within.to !== undefined) where.andWhere("position", "<=", within.to);
      })
      .orderBy("position", order)
      .limit(range.limit);
  if (types === undefined) return query().select("*");
  // Newest of each type by its index, and of those the newest: no other type is read.
  const ofType = query().where(db.raw("audit_entry.type = wanted.type")).select("*");
  const wanted = db.raw("unnest(?::text[]) as wanted(type)", [[...types]]);
  const found = db.raw("? cross join lateral ? as found", [wanted, ofType]);
  return db.select("found.*").from(found).orderBy("position", order).limit(range.limit);
}

function narrow(
  where: Knex.QueryBuilder<AuditEntryRow>,
  filter: AuditFilter,
  range: AuditRange,
): void {
  const { placeId, actorId, subjectId, correlationId, causationId, since, until } = filter;
  if (placeId !== undefined) where.andWhere({ place_id: placeId });
  if (actorId !== undefined) where.andWhere({ actor_id: actorId });
  if (subjectId !== undefined) where.andWhere({ subject_id: indexable(storedId(subjectId)) });
  if (correlationId !== undefined) where.andWhere({ correlation_id: correlationId });
  if (causationId !== undefined) where.andWhere({ causation_id: causationId });
  if (since !== undefined) where.andWhere("occurred_at", ">=", since);
  if (until !== undefined) where.andWhere("occurred_at", "<", until);
  if (range.after !== undefined) where.andWhere("position", ">", range.after);
  if (range.before !== undefined) where.andWhere("position", "<", range.before);
}

type Positions = Readonly<{ from?: bigint | undefined; to?: bigint | undefined }>;

/** The positions between which the events of the requested days lie. */
async function positionsOf(db: Knex, { since, until }: AuditFilter): Promise<Positions> {
  if (since === undefined && until === undefined) return {};
  const days = () => db("audit_day");
  const day = (date: Date): string => date.toISOString().slice(0, 10);
  const first =
    since &&
    (await days()
      .where("day", ">=", day(since))
      .min<{ min: bigint | null }>("first_position")
      .first());
  const last =
    until &&
    (await days()
      .where("day", "<=", day(until))
      .max<{ max: bigint | null }>("last_position")
      .first());
  return {
    from: since && (first?.min ?? nowhere),
    to: until && (last?.max ?? -1n),
  };
}

/** Beyond every position. */
const nowhere = 2n ** 63n - 1n;

/** The entry of one event, by its id. */
export function findAuditEntry(db: Knex, eventId: string): Promise<AuditEntryRow | undefined> {
  return db<AuditEntryRow>("audit_entry").where({ event_id: eventId }).first();
}

/** Names of tokens by their ids, and of the applications that authorizations were given to. */
export async function tokenNames(
  db: Knex,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db<AuditNameRow>("audit_name").whereIn("id", ids);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Ids match in any case; names of branches and tags match in their own case alone. */
const storedId = (subjectId: string): string => Uuid.safeParse(subjectId).data ?? subjectId;
