import type { Knex } from "knex";

import { type AnyTable, type Columns, quoted } from "./table.ts";

/** Rows as one parameter: PostgreSQL takes the types of the columns from the table. */
const given = "json_populate_recordset(null::??, ?::json) as given";

/** Deletes the rows that have these values, one statement for those that name the same columns. */
export function deletions(tx: Knex, table: AnyTable, rows: readonly Columns[]): Knex.Raw[] {
  return alike(rows).map(({ columns, json }) =>
    tx.raw(`delete from ?? as stored using ${given} where ${equal(columns)}`, [
      table.name,
      table.name,
      json,
    ]),
  );
}

export type Update = Readonly<{ where: Columns; columns: Columns }>;

/** Gives the rows that have the values of `where` new ones; no column of `where` is changed. */
export function updates(tx: Knex, table: AnyTable, all: readonly Update[]): Knex.Raw[] {
  const [first] = all;
  if (first === undefined) return [];
  const where = Object.keys(first.where);
  const rows = all.map((update) => ({ ...update.columns, ...update.where }));
  return alike(rows).map(({ columns, json }) => {
    const set = without(columns, where).map((column) => `"${column}" = given."${column}"`);
    const text = `update ?? as stored set ${set.join(", ")} from ${given} where ${equal(where)}`;
    return tx.raw(text, [table.name, table.name, json]);
  });
}

/** Inserts rows; those whose keys are there take the new values, but in columns that the table keeps. */
export function insertions(tx: Knex, table: AnyTable, rows: readonly Columns[]): Knex.Raw[] {
  const { name, key, writtenOnce = [] } = table;
  return alike(rows).map(({ columns, json }) => {
    const set = without(columns, [...key, ...writtenOnce]).map(
      (column) => `"${column}" = excluded."${column}"`,
    );
    const action = set.length === 0 ? "nothing" : `update set ${set.join(", ")}`;
    return tx.raw(
      `insert into ?? (${quoted(columns).join(", ")})
       select ${columns.map((column) => `given."${column}"`).join(", ")} from ${given}
       on conflict (${quoted(key).join(", ")}) do ${action}`,
      [name, name, json],
    );
  });
}

const equal = (columns: readonly string[]): string =>
  columns.map((column) => `stored."${column}" = given."${column}"`).join(" and ");

const without = (columns: readonly string[], removed: readonly string[]): readonly string[] =>
  columns.filter((column) => !removed.includes(column));

type RowSet = Readonly<{ columns: readonly string[]; json: string }>;

/** Rows that have the same columns together, as JSON. */
function alike(rows: readonly Columns[]): readonly RowSet[] {
  const sets = new Map<string, { columns: readonly string[]; rows: Columns[] }>();
  for (const row of rows) {
    const columns = Object.keys(row).sort();
    const name = columns.join();
    const set = sets.get(name) ?? { columns, rows: [] };
    set.rows.push(row);
    sets.set(name, set);
  }
  return [...sets.values()].map((set) => ({
    columns: set.columns,
    json: JSON.stringify(set.rows.map(asJson)),
  }));
}

function asJson(row: Columns): Columns {
  const json: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) json[column] = asText(value);
  return json;
}

/** Numbers and bytes that JSON has no form for, as PostgreSQL reads them. */
function asText(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return Buffer.isBuffer(value) ? `\\x${value.toString("hex")}` : value;
}
