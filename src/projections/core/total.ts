import type { Knex } from "knex";

import type { Tx } from "./projection.ts";

/**
 * How many rows of a table a list shows to everybody. It is kept beside them, because counting them
 * would take the longer the more there are.
 */
export type KeptTotal = Readonly<{
  /** A change of these columns may move it. */
  columns: ReadonlySet<string>;
  /** Of the projection that owns the rows. */
  table: string;
  create: (tx: Tx) => Promise<void>;
  /** Runs what writes the rows of these ids, and moves the total by what that made of them. */
  around: (tx: Tx, ids: readonly string[], write: () => Promise<void>) => Promise<void>;
  read: (db: Knex) => Promise<number>;
}>;

/** Of rows that meet a condition in SQL, which names these columns. It follows the rows themselves, so repeating changes nothing. */
export function keptTotal(rows: string, condition: string, columns: readonly string[]): KeptTotal {
  const table = `${rows}_total`;
  const counts = async (tx: Tx, ids: readonly string[]): Promise<number> => {
    const text = `select count(*)::int as total from ?? where id = any(?) and (${condition})`;
    const { rows: counted } = await tx.raw<{ rows: [{ total: number }] }>(text, [rows, [...ids]]);
    return counted[0].total;
  };
  return {
    columns: new Set(columns),
    table,
    create: async (tx) => {
      await tx.schema.createTable(table, (made) => {
        made.specificType("id", "smallint").primary();
        made.bigInteger("total").notNullable();
      });
    },
    async around(tx, ids, write) {
      const before = await counts(tx, ids);
      await write();
      const after = await counts(tx, ids);
      if (before === after) return;
      await tx(table)
        .insert({ id: theOnly, total: after - before })
        .onConflict("id")
        .merge({ total: tx.raw("??.total + excluded.total", [table]) });
      // A set of rows that come and go leaves no row either.
      if (after < before) await tx(table).where({ id: theOnly, total: 0 }).delete();
    },
    async read(db) {
      const row = await db<{ id: number; total: bigint }>(table).where({ id: theOnly }).first();
      return Number(row?.total ?? 0n);
    },
  };
}

const theOnly = 1;

/** How far beyond the requested page a search is counted; see docs/api.md. */
export const countedBeyondMax = 500;

/** How many rows there are, counted up to a limit beyond the page. */
export async function countedNear(
  db: Knex,
  query: Knex.QueryBuilder,
  { limit, offset }: Readonly<{ limit: number; offset: number }>,
): Promise<number> {
  const near = query.select(db.raw("1")).limit(offset + limit + countedBeyondMax);
  return counted(db.from(near.as("near")));
}

/** How many rows there are, every one of them read. */
export async function counted(query: Knex.QueryBuilder): Promise<number> {
  const row: { total?: bigint } | undefined = await query.count({ total: "*" }).first();
  return Number(row?.total ?? 0n);
}
