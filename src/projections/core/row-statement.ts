import type { Knex } from "knex";

/** What the statements for rows of a table depend on. */
export type WrittenTable = Readonly<{
  name: string;
  key: readonly string[];
  /** These keep the values that they have when the row is put again. */
  kept?: readonly string[];
  /** Condition in SQL for a row `given` to be stored. */
  storedIf?: string;
}>;

export type Columns = Readonly<Record<string, unknown>>;

/** A statement, its parameters, and how many characters these have. */
export type RowStatement = Readonly<{ text: string; values: readonly Scalar[]; length: number }>;

type Scalar = string | number | boolean | null;

/** Characters that are sent and not answered; PostgreSQL and Node.js bound the length of a text, and both keep it in memory. */
export const textLengthMax = 8 * 1024 ** 2;

/** The text for a set of rows, and for one row that has a parameter for each of these columns. */
type Form = Readonly<{
  many: (table: WrittenTable, columns: readonly string[]) => string;
  one: (
    table: WrittenTable,
    columns: readonly string[],
  ) => Readonly<{ text: string; parameters: readonly string[] }>;
}>;

export const deletions = (table: WrittenTable, keys: readonly Columns[]) =>
  statementsFor(table, keys, deletion);

export const updates = (table: WrittenTable, rows: readonly Columns[]) =>
  statementsFor(table, rows, update);

export const insertions = (table: WrittenTable, rows: readonly Columns[]) =>
  statementsFor(table, rows, insertion);

export const rawOf = (db: Knex, { text, values }: RowStatement): Knex.Raw => db.raw(text, values);

/** One statement for those of the rows that have the same columns, or several where they are much text. */
function* statementsFor(
  table: WrittenTable,
  all: readonly Columns[],
  form: Form,
): Generator<RowStatement> {
  for (const { columns, rows } of alike(all)) {
    const [row] = rows;
    const parameters = rows.length === 1 && row !== undefined ? scalarsOf(row) : undefined;
    if (parameters !== undefined && table.storedIf === undefined) {
      yield oneRow(table, columns, parameters, form);
      continue;
    }
    const text = form.many(table, columns);
    for (const json of jsonTexts(rows)) {
      yield { text, values: [table.name, table.name, json], length: json.length };
    }
  }
}

type RowSet = Readonly<{ columns: readonly string[]; rows: readonly Columns[] }>;

/** Rows that have the same columns together. */
function alike(rows: readonly Columns[]): readonly RowSet[] {
  const sets = new Map<string, { columns: readonly string[]; rows: Columns[] }>();
  for (const row of rows) {
    const columns = Object.keys(row).sort();
    const name = columns.join();
    const set = sets.get(name) ?? { columns, rows: [] };
    set.rows.push(row);
    sets.set(name, set);
  }
  return [...sets.values()];
}

/**
 * PostgreSQL takes the type of a parameter from the column that it is for. To make a row of JSON takes it longer than the
 * rest of the statement.
 */
function oneRow(
  table: WrittenTable,
  columns: readonly string[],
  row: Readonly<Record<string, Scalar>>,
  form: Form,
): RowStatement {
  const { text, parameters } = form.one(table, columns);
  const values = parameters.map((column) => row[column] ?? null);
  const length = values.reduce<number>((sum, value) => sum + String(value).length, 0);
  return { text, values: [table.name, ...values], length };
}

/** The row as it is in JSON, where no value of it has parts. */
function scalarsOf(row: Columns): Readonly<Record<string, Scalar>> | undefined {
  const scalars: Record<string, Scalar> = {};
  for (const [column, value] of Object.entries(row)) {
    const scalar = value instanceof Date ? value.toJSON() : value;
    if (typeof scalar === "bigint") scalars[column] = String(scalar);
    else if (isScalar(scalar)) scalars[column] = scalar;
    else return undefined;
  }
  return scalars;
}

const isScalar = (value: unknown): value is Scalar =>
  value === null || ["string", "boolean"].includes(typeof value) || Number.isFinite(value);

/** PostgreSQL takes the types of the columns from the table, so one parameter holds a set of rows. */
const given = "json_populate_recordset(null::??, ?::json) as given";

const asJson = (row: Columns): string =>
  JSON.stringify(row, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));

/** The rows as JSON arrays, mostly one. */
function* jsonTexts(rows: readonly Columns[]): Generator<string> {
  let texts: string[] = [];
  let length = 0;
  for (const row of rows) {
    const text = asJson(row);
    if (texts.length > 0 && length + text.length > textLengthMax) {
      yield `[${texts.join()}]`;
      [texts, length] = [[], 0];
    }
    texts.push(text);
    length += text.length;
  }
  yield `[${texts.join()}]`;
}

const allOf = (columns: readonly string[], condition: (column: string) => string): string =>
  columns.map(condition).join(" and ");

const isGivenKey = (column: string): string => `stored.${column} = given.${column}`;
const isParameter = (column: string): string => `stored.${column} = ?`;

const deletion: Form = {
  many: ({ key }) => `delete from ?? as stored using ${given} where ${allOf(key, isGivenKey)}`,
  one: ({ key }) => ({
    text: `delete from ?? as stored where ${allOf(key, isParameter)}`,
    parameters: key,
  }),
};

const update: Form = {
  many({ key }, columns) {
    const set = besides(key, columns).map((column) => `${column} = given.${column}`);
    return `update ?? as stored set ${set.join(", ")} from ${given} where ${allOf(key, isGivenKey)}`;
  },
  one({ key }, columns) {
    const changed = besides(key, columns);
    const set = changed.map((column) => `${column} = ?`).join(", ");
    return {
      text: `update ?? as stored set ${set} where ${allOf(key, isParameter)}`,
      parameters: [...changed, ...key],
    };
  },
};

const insertion: Form = {
  many(table, columns) {
    const values = columns.map((column) => `given.${column}`).join(", ");
    const rows = `select ${values} from ${given} where ${table.storedIf ?? "true"}`;
    return insertionOf(table, columns, rows);
  },
  one(table, columns) {
    const rows = `values (${columns.map(() => "?").join(", ")})`;
    return { text: insertionOf(table, columns, rows), parameters: columns };
  },
};

function insertionOf({ key, kept }: WrittenTable, columns: readonly string[], rows: string) {
  const set = besides(kept ?? [], columns).map((column) => `${column} = excluded.${column}`);
  return (
    `insert into ?? (${columns.join(", ")}) ${rows} ` +
    `on conflict (${key.join(", ")}) do update set ${set.join(", ")}`
  );
}

const besides = (left: readonly string[], columns: readonly string[]): readonly string[] =>
  columns.filter((column) => !left.includes(column));
