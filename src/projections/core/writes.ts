import type { Knex } from "knex";

import { allOf, begin } from "../../platform/postgres/pipelined.ts";
import type { Statement } from "../../platform/postgres/together.ts";
import { announceChange, type Subject } from "./announce.ts";
import type { Tx } from "./projection.ts";
import type { KeptTotal } from "./total.ts";

type AnyTable = Readonly<{
  name: string;
  key: readonly string[];
  /** Moved by what a set of rows changes; its rows are known by the column `id` alone. */
  total?: KeptTotal;
  /** These keep the values that they have when the row is put again. */
  kept?: readonly string[];
  /** Condition in SQL for a row `given` to be stored. */
  storedIf?: string;
  /** Which is written before this one. */
  after?: AnyTable;
}>;

/** A table that is written by the keys of its rows. */
export type Table<Row extends object> = AnyTable &
  Readonly<{ key: readonly (keyof Row & string)[]; kept?: readonly (keyof Row & string)[] }>;

/** Makes the declaration of a table check the names of its key. */
export const tableOf = <Row extends object>(table: Table<Row>): Table<Row> => table;

type Columns = Readonly<Record<string, unknown>>;

/** What becomes of the row of a key: deleted first, then changed, then put. */
type Fate = {
  key: Columns;
  gone: boolean;
  changed: Columns | undefined;
  put: Columns | undefined;
};

type Fates = Map<AnyTable, Map<string, Fate>>;

/** A statement of another form, with the database or transaction that it is for. */
type Written = (db: Knex) => Statement & PromiseLike<unknown>;

/** Columns without a value stay as they are. */
export type Changes<Row> = { readonly [Column in keyof Row]?: Row[Column] | undefined };

/**
 * The rows that a batch of events leaves: kept until all of them are known or a statement has to see them, then
 * written as sets. What a row was in between is not stored.
 */
export class Writes {
  readonly #db: Knex;
  readonly #tx: Tx | undefined;
  /** In their order: sets of rows, and statements that stand between them. */
  #steps: (Fates | Written)[] = [];
  #tables: Fates = new Map();
  readonly #announced = new Set<Subject>();

  /** @param db where it is no transaction, `written` throws, and the rows are taken by `statements` */
  constructor(db: Knex) {
    this.#db = db;
    this.#tx = db.isTransaction === true ? (db as Tx) : undefined;
  }

  /** Inserts the row; of one that is there these columns take the new values, and others stay. */
  put<Row extends object>(table: Table<Row>, row: Partial<NoInfer<Row>>): void {
    const fate = this.#fateOf(table, row as Columns);
    const kept: readonly string[] = table.kept ?? [];
    const isPut = fate.put !== undefined;
    const taken = Object.entries(row).filter(([column]) => !(isPut && kept.includes(column)));
    fate.put = { ...fate.put, ...Object.fromEntries(taken) };
  }

  /** Gives columns of the row new values, if it is there. */
  change<Row extends object>(
    table: Table<Row>,
    key: Partial<NoInfer<Row>>,
    columns: Changes<NoInfer<Row>>,
  ): void {
    const fate = this.#fateOf(table, key as Columns);
    const given = Object.entries(columns).filter(([, value]) => value !== undefined);
    if (given.length === 0) return;
    const change = Object.fromEntries(given);
    if (fate.put !== undefined) fate.put = { ...fate.put, ...change };
    else if (!fate.gone) fate.changed = { ...fate.changed, ...change };
  }

  remove<Row extends object>(table: Table<Row>, key: Partial<NoInfer<Row>>): void {
    Object.assign(this.#fateOf(table, key as Columns), {
      gone: true,
      changed: undefined,
      put: undefined,
    });
  }

  /**
   * A statement of another form, behind everything so far and before everything that follows. What it is does not depend
   * on what is stored, though what it does may.
   */
  run(statement: Written): void {
    this.#steps.push(this.#tables, statement);
    this.#tables = new Map();
  }

  /** See `announceChange`; once for a batch. */
  announce(subject: Subject): void {
    this.#announced.add(subject);
  }

  /**
   * The transaction, with everything so far written, for statements of another form. Statements are sent without a wait
   * for the one before; their order is kept.
   */
  async written(): Promise<Tx> {
    const tx = this.#tx;
    if (tx === undefined) throw new Error("These rows depend on what is stored");
    const sent: Promise<unknown>[] = [];
    try {
      for (const step of this.#taken()) {
        if (typeof step === "function") sent.push(begin(step(tx)));
        else await this.#writeTables(tx, step, sent);
      }
      for (const subject of this.#announced) sent.push(begin(announceChange(tx, subject)));
      this.#announced.clear();
    } finally {
      await allOf(sent);
    }
    return tx;
  }

  /** What `written` runs; undefined when it has to count rows, or to wait because they are much text. */
  statements(): readonly Statement[] | undefined {
    const all: Statement[] = [];
    let length = 0;
    for (const step of this.#taken()) {
      if (typeof step === "function") {
        all.push(step(this.#db));
        continue;
      }
      for (const [table, fates] of step) {
        if (countedIds(table, fates).length > 0) return undefined;
        for (const set of setsFor(table, fates)) {
          length += set.text.length;
          if (length > textLengthMax) return undefined;
          all.push(setStatement(this.#db, table, set));
        }
      }
    }
    return [...all, ...[...this.#announced].map((subject) => announceChange(this.#db, subject))];
  }

  #taken(): readonly (Fates | Written)[] {
    const steps = [...this.#steps, this.#tables];
    this.#steps = [];
    this.#tables = new Map();
    return steps;
  }

  /** @param sent takes what is begun and not waited for */
  async #writeTables(tx: Tx, tables: Fates, sent: Promise<unknown>[]): Promise<void> {
    for (const [table, fates] of tables) {
      const write = () => this.#write(table, fates);
      const counted = countedIds(table, fates);
      if (table.total !== undefined && counted.length > 0) {
        await table.total.around(tx, counted, write);
      } else sent.push(begin(write()));
    }
  }

  async #write(table: AnyTable, fates: ReadonlyMap<string, Fate>): Promise<void> {
    const sent: Promise<unknown>[] = [];
    let length = 0;
    try {
      for (const set of setsFor(table, fates)) {
        if (length + set.text.length > textLengthMax) {
          await allOf(sent.splice(0));
          length = 0;
        }
        sent.push(begin(setStatement(this.#db, table, set)));
        length += set.text.length;
      }
    } finally {
      await allOf(sent);
    }
  }

  #fateOf(table: AnyTable, row: Columns): Fate {
    if (table.after !== undefined) this.#fatesOf(table.after);
    const fates = this.#fatesOf(table);
    const key = Object.fromEntries(table.key.map((column) => [column, row[column]]));
    const values = Object.values(key);
    const id = values.length === 1 ? String(values[0]) : JSON.stringify(values);
    const fate = fates.get(id) ?? { key, gone: false, changed: undefined, put: undefined };
    fates.set(id, fate);
    return fate;
  }

  #fatesOf(table: AnyTable): Map<string, Fate> {
    const fates = this.#tables.get(table) ?? new Map<string, Fate>();
    this.#tables.set(table, fates);
    return fates;
  }
}

/** What becomes of the rows of a table, as statements for sets of them and the parameter of each. */
function* setsFor(table: AnyTable, all: ReadonlyMap<string, Fate>): Generator<SetOfRows> {
  const fates = [...all.values()];
  const gone = fates.filter((fate) => fate.gone).map(({ key }) => key);
  const changed = fates.flatMap((fate) =>
    fate.changed === undefined ? [] : [{ ...fate.changed, ...fate.key }],
  );
  const put = fates.flatMap(({ put: row }) => (row === undefined ? [] : [row]));
  for (const [sets, statementOf] of [
    [alike(gone), deletion],
    [alike(changed), update],
    [alike(put), insertion],
  ] as const) {
    for (const set of sets) {
      const statement = statementOf(table, set);
      for (const text of jsonTexts(set.rows)) yield { statement, text };
    }
  }
}

/** Ids of the rows whose writing may move the total of the table. */
function countedIds({ total }: AnyTable, fates: ReadonlyMap<string, Fate>): readonly string[] {
  if (total === undefined) return [];
  return [...fates].flatMap(([id, fate]) => (moves(fate, total) ? [id] : []));
}

/** Whether a total may be another one afterwards. */
const moves = ({ gone, changed, put }: Fate, { columns }: KeptTotal): boolean =>
  gone || put !== undefined || Object.keys(changed ?? {}).some((column) => columns.has(column));

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

/** PostgreSQL takes the types of the columns from the table, so one parameter holds a set of rows. */
const given = "json_populate_recordset(null::??, ?::json) as given";

const asJson = (row: Columns): string =>
  JSON.stringify(row, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));

/** Characters that are sent and not answered; PostgreSQL and Node.js bound the length of a text, and both keep it in memory. */
const textLengthMax = 8 * 1024 ** 2;

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

/** A statement with the table's name twice and the rows as parameters. */
type SetOfRows = Readonly<{ statement: string; text: string }>;

const setStatement = (db: Knex, { name }: AnyTable, { statement, text }: SetOfRows): Knex.Raw =>
  db.raw(statement, [name, name, text]);

const sameKey = (table: AnyTable): string =>
  table.key.map((column) => `stored.${column} = given.${column}`).join(" and ");

function deletion(table: AnyTable): string {
  return `delete from ?? as stored using ${given} where ${sameKey(table)}`;
}

function update(table: AnyTable, { columns }: RowSet): string {
  const set = columns
    .filter((column) => !table.key.includes(column))
    .map((column) => `${column} = given.${column}`)
    .join(", ");
  return `update ?? as stored set ${set} from ${given} where ${sameKey(table)}`;
}

function insertion(table: AnyTable, { columns }: RowSet): string {
  const names = columns.join(", ");
  const values = columns.map((column) => `given.${column}`).join(", ");
  const set = columns
    .filter((column) => !table.kept?.includes(column))
    .map((column) => `${column} = excluded.${column}`)
    .join(", ");
  return (
    `insert into ?? (${names}) select ${values} from ${given} where ${table.storedIf ?? "true"} ` +
    `on conflict (${table.key.join(", ")}) do update set ${set}`
  );
}
