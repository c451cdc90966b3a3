import type { Knex } from "knex";

export type Columns = Readonly<Record<string, unknown>>;

/** A table of a read model, whatever its rows are. */
export type AnyTable = Readonly<{
  name: string;
  /**
   * Name → type in SQL. A column takes no null unless its type ends with ` null`. After an upgrade, rows of the version
   * before have the default of a new column until they are built again; without a default the table is not readable
   * until then. A column whose values get another form gets another name.
   */
  columns: Readonly<Record<string, string>>;
  /** The columns by which a row is known. */
  key: readonly string[];
  /** Columns that keep the values they have when a row is put again. */
  writtenOnce?: readonly string[];
  /** What follows `create index on <table>`, as `(project_id, status)`. */
  indexes?: readonly string[];
  /** Lists of columns that no two rows have alike, beside the key. */
  unique?: readonly string[];
  /** Indexes that no change of rows looks anything up by: a rebuild makes them after the rows, in less time. */
  lateIndexes?: readonly string[];
  /** Tables that follow this one by triggers of PostgreSQL: see the migration of `count_rows`. */
  counts?: readonly Count[];
}>;

/** How many rows there are of each set of values in some columns, or the sum of a column; no row where that is zero. */
export type Count = Readonly<{
  /** Its key is these columns, and its column `total` the number. */
  table: AnyTable;
  /** Condition in SQL for a row to count; every row counts without one. */
  where?: string;
  /** The column whose values are summed. */
  sum?: string;
}>;

/** A table whose rows are of a type. */
export type Table<Row extends object> = AnyTable & Readonly<{ row?: Row }>;

/** What columns hold, by their types in SQL. */
type ValueOfType = {
  bigint: bigint;
  boolean: boolean;
  bytea: Buffer;
  date: string;
  integer: number;
  jsonb: unknown;
  smallint: number;
  text: string;
  "text[]": readonly string[];
  timestamptz: Date;
  uuid: string;
  "uuid[]": readonly string[];
};

declare const holds: unique symbol;
/** A type in SQL whose column holds values of a narrower type than `ValueOfType` says. */
type Column<Value> = string & Readonly<{ [holds]: Value }>;

/** Says what values a column holds, where its type in SQL does not: `column<ProjectId>("uuid")`. */
export const column = <Value>(type: string): Column<Value> => type as Column<Value>;

type ValueOf<Type> =
  Type extends Column<infer Value>
    ? Value
    : Type extends keyof ValueOfType
      ? ValueOfType[Type]
      : Type extends `${infer NotNull extends keyof ValueOfType} null`
        ? ValueOfType[NotNull] | null
        : Type extends `${infer Known extends keyof ValueOfType} ${"collate" | "default"} ${string}`
          ? ValueOfType[Known]
          : never;

type RowWith<Types> = { readonly [Name in keyof Types]: ValueOf<Types[Name]> };

/** A row of a table: `export type IssueRow = RowOf<typeof issues>`. */
export type RowOf<Of extends Readonly<{ row?: object }>> = NonNullable<Of["row"]>;

/** A table as it is declared; the type of its rows follows from its columns. */
type Declared<Types> = Omit<AnyTable, "columns" | "key" | "kept"> &
  Readonly<{
    columns: Types;
    key: readonly (keyof Types & string)[];
    writtenOnce?: readonly (keyof Types & string)[];
  }>;

export const defineTable = <const Types extends AnyTable["columns"]>(
  table: Declared<Types>,
): Table<RowWith<Types>> => table;

/** Makes the tables where the search path leads, with all indexes but the late ones. */
export async function createTables(tx: Knex, tables: readonly AnyTable[]): Promise<void> {
  for (const table of tables) {
    await tx.raw(creation(table));
    for (const columns of table.unique ?? []) {
      await tx.raw(`create unique index on ${table.name} ${columns}`);
    }
    await createIndexes(tx, table, table.indexes);
  }
  for (const table of tables) {
    for (const count of table.counts ?? []) await createCount(tx, table, count);
  }
}

export async function createLateIndexes(tx: Knex, tables: readonly AnyTable[]): Promise<void> {
  for (const table of tables) await createIndexes(tx, table, table.lateIndexes);
}

async function createIndexes(
  tx: Knex,
  { name }: AnyTable,
  indexes: readonly string[] = [],
): Promise<void> {
  for (const index of indexes) await tx.raw(`create index on ${name} ${index}`);
}

/** Names of columns may be words of SQL. */
export const quoted = (names: readonly string[]): readonly string[] =>
  names.map((name) => `"${name}"`);

export const columnDefinition = (column: string, type: string): string =>
  type.endsWith(" null") ? `"${column}" ${type}` : `"${column}" ${type} not null`;

function creation({ name, columns, key }: AnyTable): string {
  const all = Object.entries(columns).map(([column, type]) => columnDefinition(column, type));
  return `create table ${name} (${all.join(", ")}, primary key (${quoted(key).join(", ")}))`;
}

const firings = {
  insert: "new table as new_rows",
  update: "old table as old_rows new table as new_rows",
  delete: "old table as old_rows",
} as const;

async function createCount(tx: Knex, { name }: AnyTable, count: Count): Promise<void> {
  const { table, where = "true", sum = "1" } = count;
  for (const [event, rows] of Object.entries(firings)) {
    await tx.raw(
      `create trigger ${table.name}_${event} after ${event} on ${name} referencing ${rows}
       for each statement
       execute function public.count_rows('${table.name}', '${table.key.join(", ")}', '${where.replaceAll("'", "''")}', '${sum}')`,
    );
  }
}
