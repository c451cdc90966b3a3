import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import { takeLock } from "../../platform/postgres/lock.ts";
import { Refusal } from "../../platform/refusal.ts";
import { inSchema } from "../core/install.ts";
import type { Projection, ProjectionContext, Tx } from "../core/projection.ts";
import { createTables } from "../core/table.ts";
import { type Filling, fill } from "./fold.ts";

/**
 * Where a read model of the past grows. Its tables stay empty: what is written to them is seen by one
 * transaction, which is rolled back.
 */
const schemaOf = ({ name, version }: Projection): string => `as_of_${name}_v${version}`;

/**
 * Runs queries against read models as some events make them, in a transaction that is rolled back. Names of
 * their tables mean the ones of the past there; all other tables are those of today.
 *
 * @param ownerId of which the events are: a request for the same one waits, because two transactions
 *   cannot write the same rows at once
 * @param events in the order of the log; given to each read model that handles their types
 * @throws Refusal 503 when it takes too long
 */
export async function withReadModelsOf<Result>(
  db: Knex,
  projections: readonly Projection[],
  { ownerId, events, folds, context, runMaxMs = runMaxMsDefault }: Past,
  run: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  // One order for all requests, so that no two wait for each other.
  const sorted = [...projections].sort((a, b) => (a.name < b.name ? -1 : 1));
  await prepareTables(db, sorted);
  const tx = await db.transaction();
  try {
    await begin(tx, ownerId, sorted);
    const until = performance.now() + applyMaxMs;
    const mayGoOn = (): void => {
      if (performance.now() > until) throw busy();
    };
    for (const projection of sorted) {
      const own = folds?.get(projection) ?? { events };
      await fill(tx, { projection, schema: schemaOf(projection), ...own, context, mayGoOn });
    }
    return await within(runMaxMs, run(tx));
  } catch (error) {
    const isLate = isOutOfTime(error);
    // The tables may be those that another version has dropped.
    if (isLate) prepared.delete(db);
    throw isLate ? busy() : error;
  } finally {
    await tx.rollback();
  }
}

export type Past = Readonly<{
  ownerId: string;
  events: readonly Recorded[];
  /** In the place of the events, for some of the read models. */
  folds?: ReadonlyMap<Projection, Pick<Filling, "events" | "start" | "stop">>;
  context: ProjectionContext;
  /** For tests; 30 s unless given. */
  runMaxMs?: number;
}>;

const statementMaxMs = 10_000;
const lockMaxMs = 10_000;
const applyMaxMs = 20_000;
/** Of what reads the read models, git with it: it holds a connection, and the turn of the place. */
const runMaxMsDefault = 30_000;

/** What goes on afterwards finds its transaction ended. @throws Refusal 503 */
async function within<Result>(limitMs: number, task: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(busy()), limitMs);
  });
  try {
    return await Promise.race([task, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** `query_canceled`, `lock_not_available`, and a table or schema that another version has dropped. */
const outOfTime = new Set(["57014", "55P03", "42P01", "3F000"]);

function isOutOfTime(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) {
    if ("code" in one && outOfTime.has(String(one.code))) return true;
  }
  return false;
}

function busy(): Refusal {
  const message = "The state of then could not be made in time. Try again.";
  return new Refusal("unavailable", "as_of.busy", message, { retryAfterSeconds: 10 });
}

/**
 * Limits of time, the search path, the turn of the place, and the tables. Without one of them its name would mean the
 * table of today; held, none can be dropped meanwhile.
 */
async function begin(tx: Tx, ownerId: string, projections: readonly Projection[]): Promise<void> {
  const tables = projections.flatMap((projection) =>
    projection.tables.map(({ name }) => `"${schemaOf(projection)}"."${name}"`),
  );
  await tx.raw(
    `select set_config('statement_timeout', ?, true), set_config('lock_timeout', ?, true),
       set_config('search_path', ?, true)`,
    [String(statementMaxMs), String(lockMaxMs), searchPathOf(projections)],
  );
  await takeLock(tx, `as of ${ownerId}`);
  await tx.raw(`lock table ${tables.join(", ")} in row exclusive mode`);
}

const searchPathOf = (projections: readonly Projection[]): string =>
  [...projections.map(schemaOf), "read_model", "public"].map((name) => `"${name}"`).join(", ");

/** Schemas whose tables this process has seen. */
const prepared = new WeakMap<Knex, Set<string>>();

/** Without them the names would mean the tables of today. */
async function prepareTables(db: Knex, projections: readonly Projection[]): Promise<void> {
  const seen = prepared.get(db) ?? new Set();
  const unseen = projections.filter((projection) => !seen.has(schemaOf(projection)));
  if (unseen.length === 0) return;
  await makeMissing(db, unseen);
  for (const projection of unseen) seen.add(schemaOf(projection));
  prepared.set(db, seen);
}

async function makeMissing(db: Knex, projections: readonly Projection[]): Promise<void> {
  const tables = projections.flatMap((projection) =>
    projection.tables.map(({ name }) => `${schemaOf(projection)}.${name}`),
  );
  const { rows } = await db.raw<{ rows: { missing: string }[] }>(
    "select name as missing from unnest(?::text[]) as name where to_regclass(name) is null",
    [tables],
  );
  const missing = new Set(rows.map(({ missing: name }) => name.slice(0, name.indexOf("."))));
  for (const projection of projections) {
    if (missing.has(schemaOf(projection))) await makeTables(db, projection);
  }
}

/** Takes the place of what an earlier version of the read model left. */
async function makeTables(db: Knex, projection: Projection): Promise<void> {
  const schema = schemaOf(projection);
  await db.transaction(async (tx) => {
    await takeLock(tx, schema);
    const { rows } = await tx.raw<{ rows: { nspname: string }[] }>(
      "select nspname from pg_namespace where nspname ~ ?",
      [`^as_of_${projection.name}_v[0-9]+$`],
    );
    if (rows.some(({ nspname }) => nspname === schema)) return;
    for (const { nspname } of rows) {
      if (versionIn(nspname) > projection.version) continue;
      await tx.raw("drop schema ?? cascade", [nspname]);
    }
    await tx.raw("create schema ??", [schema]);
    await inSchema(tx, schema, () => createTables(tx, projection.tables));
    // What is never committed need not be logged either.
    for (const { name } of projection.tables) {
      await tx.raw("alter table ??.?? set unlogged", [schema, name]);
    }
  });
}

const versionIn = (schema: string): number => Number(schema.slice(schema.lastIndexOf("v") + 1));
