import type { Knex } from "knex";

import { Limit } from "../../platform/limit.ts";
import { buildersMax } from "./build-page.ts";
import { feeds, lockCheckpoints, lockFeed, type StoredCheckpoint } from "./checkpoint.ts";
import { createIndexes, createTables, firstCheckpoint, liveSchema } from "./install.ts";
import { feedOf, type Projection, type Tx } from "./projection.ts";

/**
 * An empty schema with checkpoints, whatever an interrupted rebuild left there.
 *
 * @param mark comment on the schema, which records whose it is
 */
export async function prepareSchema(
  next: Knex,
  schema: string,
  projections: readonly Projection[],
  mark?: string,
): Promise<void> {
  await next.transaction(async (tx) => {
    await tx.raw("drop schema if exists ?? cascade", [schema]);
    await tx.raw("create schema ??", [schema]);
    if (mark !== undefined) await tx.raw(`comment on schema ?? is '${mark}'`, [schema]);
    await tx.raw(
      "create table ??.projection_checkpoint (like public.projection_checkpoint including all)",
      [schema],
    );
    await tx<StoredCheckpoint>("projection_checkpoint").insert(
      projections.map((projection) => firstCheckpoint(projection, "behind")),
    );
  });
}

export async function createAllTables(
  next: Knex,
  schema: string,
  projections: readonly Projection[],
): Promise<void> {
  const inTurn = turns(next);
  await allEnded(projections, (projection) => inTurn((tx) => createTables(tx, schema, projection)));
}

/** Makes the indexes that rows are stored faster without, and has PostgreSQL analyze what is in the tables. */
export async function indexTables(
  next: Knex,
  schema: string,
  projections: readonly Projection[],
): Promise<void> {
  const filled = await filledTables(next, schema);
  const inTurn = turns(next);
  await allEnded(projections, async (projection) => {
    const { index, indexes = [] } = projection;
    if (index !== undefined) await inTurn((tx) => createIndexes(tx, schema, { index }));
    await allEnded(indexes, (each) =>
      inTurn((tx) => createIndexes(tx, schema, { indexes: [each] })),
    );
    const tables = projection.tables.filter((table) => filled.has(table));
    if (tables.length === 0) return;
    await inTurn(async (tx) => {
      for (const table of tables) await tx.raw("analyze ??.??", [schema, table]);
    });
  });
}

type InTurn = (work: (tx: Tx) => Promise<void>) => Promise<void>;

/** Side by side, a few at a time, each in a transaction of its own. */
function turns(next: Knex): InTurn {
  const builders = new Limit({ name: "rebuild.tables", total: buildersMax, whenFull: "wait" });
  return (work) => builders.run(() => next.transaction(work));
}

/** @throws what failed first, once all have ended */
async function allEnded<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const ends = await Promise.allSettled(items.map(work));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

async function filledTables(db: Knex, schema: string): Promise<ReadonlySet<string>> {
  const { rows } = await db.raw<{ rows: { name: string }[] }>(
    `select relname as name from pg_class
     where relnamespace = ?::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0`,
    [schema],
  );
  return new Set(rows.map(({ name }) => name));
}

/**
 * Those of the read models that are live, of this release, and without rows, where they stand no further in the log
 * than this: when no event up to there is of their types, a rebuild would make the same of them.
 */
export async function emptyUpTo(
  db: Knex,
  projections: readonly Projection[],
  position: bigint,
): Promise<ReadonlySet<Projection>> {
  if (projections.length === 0) return new Set();
  return db.transaction(async (tx) => {
    const fed = new Map<string, bigint>();
    for (const feed of feeds) fed.set(feed, await lockFeed(tx, feed));
    const rows = await lockCheckpoints(
      tx,
      projections.map(({ name }) => name),
    );
    const standing = projections.filter((projection) => {
      const row = rows.get(projection.name);
      const reached = row?.position ?? fed.get(feedOf(projection));
      const isNoFurther = reached !== undefined && reached <= position;
      return row?.state === "live" && isMadeBy(projection, row) && isNoFurther;
    });
    const tables = await emptyTables(tx, standing);
    return new Set(standing.filter((projection) => projection.tables.every((t) => tables.has(t))));
  });
}

const isMadeBy = ({ version, tables }: Projection, row: StoredCheckpoint): boolean =>
  row.version === version && [...row.tables].sort().join() === [...tables].sort().join();

/** Tables of the read models that are there and have no row. */
async function emptyTables(
  tx: Tx,
  projections: readonly Projection[],
): Promise<ReadonlySet<string>> {
  const names = projections.flatMap(({ tables }) => tables);
  const { rows } = await tx.raw<{ rows: { name: string }[] }>(
    "select tablename as name from pg_tables where schemaname = ? and tablename = any(?)",
    [liveSchema, names],
  );
  const there = rows.map(({ name }) => name);
  if (there.length === 0) return new Set();
  const questions = there.map(() => "select ? as name where not exists (select from ??.??)");
  const empty = await tx.raw<{ rows: { name: string }[] }>(
    questions.join(" union all "),
    there.flatMap((name) => [name, liveSchema, name]),
  );
  return new Set(empty.rows.map(({ name }) => name));
}
