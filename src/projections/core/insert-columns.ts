import type { Knex } from "knex";

import { arrayBytes, type ElementType } from "../../platform/postgres/array-bytes.ts";
import type { Tx } from "./projection.ts";

/** Type of each column in PostgreSQL. */
export type ColumnTypes<Row extends object> = Readonly<Record<keyof Row & string, ElementType>>;

type Insert<Row extends object> = Readonly<{
  table: string;
  types: ColumnTypes<Row>;
  rows: readonly Row[];
  /** What follows `on conflict`; the default lets one fail. */
  onConflict?: string | undefined;
}>;

/**
 * Inserts rows with one parameter a column. A parameter a value would be tens of thousands for the rows of a
 * page of the log, which take longer to name and to parse than the rows take to store.
 */
export async function insertColumns<Row extends object>(
  tx: Tx,
  { table, types, rows, onConflict }: Insert<Row>,
): Promise<void> {
  if (rows.length > 0) await insertStatement(tx, { table, types, rows, onConflict });
}

/** The statement of `insertColumns`. */
export function insertStatement<Row extends object>(
  db: Knex,
  { table, types, rows, onConflict }: Insert<Row>,
): Knex.Raw {
  const columns = Object.keys(types) as (keyof Row & string)[];
  // In the list of what is selected: from a function in FROM, PostgreSQL would store and read again what each array holds.
  const arrays = columns.map((column) => `unnest(?::${types[column]}[])`).join(", ");
  const conflict = onConflict === undefined ? "" : ` on conflict ${onConflict}`;
  return db.raw(
    `insert into ?? (${columns.map(() => "??").join(", ")}) select ${arrays}${conflict}`,
    [table, ...columns, ...columns.map((column) => columnOf(types[column], rows, column))],
  );
}

/** The parameter of a column, as an array of its type. */
export const columnOf = <Row extends object>(
  type: ElementType,
  rows: readonly Row[],
  column: keyof Row,
): Buffer =>
  arrayBytes(
    type,
    rows.map((row) => row[column]),
  );

/** Every column but those of the key takes the new value. */
export function merging<Row extends object>(
  types: ColumnTypes<Row>,
  key: readonly (keyof Row & string)[],
): string {
  const set = (Object.keys(types) as (keyof Row & string)[])
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  return `(${key.join(", ")}) do update set ${set.join(", ")}`;
}
