import type { Knex } from "knex";

import type { AuditEntryRow } from "./entry.ts";

/** A place in the log up to and with a position, or a time up to and with an instant. */
export type Until = Readonly<{ position: bigint }> | Readonly<{ time: Date }>;

export type Happened = Pick<AuditEntryRow, "position" | "stream" | "revision">;

type Some = Readonly<{ until: Until; countMax: number }>;

export type HappenedIn = Some &
  Readonly<{
    /** Id of the project, team, company or account that the events belong to. */
    placeId: string;
    types: readonly string[];
    /** Only what is about one of these things. */
    subjectIds?: readonly string[];
    /** Only what comes after this position. */
    after?: bigint | undefined;
  }>;

/** Where events of a place stand in the log, in their order, `countMax` at most: then some are left out. */
export async function happenedIn(
  db: Knex,
  { placeId, types, until, subjectIds, after, countMax }: HappenedIn,
): Promise<readonly Happened[]> {
  if (types.length === 0) return [];
  const here = () => {
    const all = entries(db).where("place_id", placeId);
    return after === undefined ? all : all.where("position", ">", after);
  };
  const first = (query: Query) => upTo(db, query, until).orderBy("position").limit(countMax);
  if (subjectIds !== undefined) {
    return first(
      here()
        // One parameter: a statement has 65,535 at most.
        .whereRaw("subject_id = any(?)", [[...subjectIds]])
        .whereIn("type", [...types]),
    );
  }
  // Type by type, so that an index finds them however much else happened there.
  const ofType = first(here().where(db.raw("audit_entry.type = wanted.type")));
  const wanted = db.raw("unnest(?::text[]) as wanted(type)", [[...types]]);
  const found = db.raw("? cross join lateral ? as found", [wanted, ofType]);
  return db.select("found.*").from(found).orderBy("position").limit(countMax);
}

/** What is numbered gets its number in a moment; it is shown by it from its first event on. */
const numbersAfter = 100;

/**
 * Where the numbers of a stream stand that had been given, and those that things which were there may have
 * been given soon after.
 */
export async function numbersIn(
  db: Knex,
  stream: string,
  { until, countMax }: Some,
): Promise<readonly Happened[]> {
  const given = () => entries(db).where("stream", stream).orderBy("revision");
  const before = await upTo(db, given(), until).limit(countMax);
  const next = (before.at(-1)?.revision ?? -1n) + 1n;
  return [...before, ...(await given().where("revision", ">=", next).limit(numbersAfter))];
}

type Query = Knex.QueryBuilder<AuditEntryRow, Happened[]>;

const entries = (db: Knex): Query => db("audit_entry").select("position", "stream", "revision");

function upTo(db: Knex, query: Query, until: Until): Query {
  if ("position" in until) return query.where("position", "<=", until.position);
  const { text, bindings } = lastOfDay(until.time);
  return query
    .where("occurred_at", "<=", until.time)
    .where("position", "<=", db.raw(`(${text})`, [...bindings]));
}

/** Clocks differ: an event may come after one of a later time, but not after the last of its day. */
export const lastOfDay = (time: Date) => ({
  text: "select max(last_position) from audit_day where day <= ?",
  bindings: [time.toISOString().slice(0, 10)],
});
