import type { Knex } from "knex";

import { allOf, begin } from "../../platform/postgres/pipelined.ts";
import type { Statement } from "../../platform/postgres/together.ts";
import { announceChange, type Subject } from "./announce.ts";
import type { Tx } from "./projection.ts";
import {
  type Columns,
  deletions,
  insertions,
  type RowStatement,
  rawOf,
  textLengthMax,
  updates,
  type WrittenTable,
} from "./row-statement.ts";
import type { KeptTotal } from "./total.ts";

type AnyTable = WrittenTable &
  Readonly<{
    /** Moved by what a set of rows changes; its rows are known by the column `id` alone. */
    total?: KeptTotal;
    /** Which is written before this one. */
    after?: AnyTable;
  }>;

/** A table that is written by the keys of its rows. Values of a column of JSON are objects, arrays or null. */
export type Table<Row extends object> = AnyTable &
  Readonly<{ key: readonly (keyof Row & string)[]; kept?: readonly (keyof Row & string)[] }>;

/** Makes the declaration of a table check the names of its key. */
export const tableOf = <Row extends object>(table: Table<Row>): Table<Row> => table;

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
          length += set.length;
          if (length > textLengthMax) return undefined;
          all.push(rawOf(this.#db, set));
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
        if (length + set.length > textLengthMax) {
          await allOf(sent.splice(0));
          length = 0;
        }
        sent.push(begin(rawOf(this.#db, set)));
        length += set.length;
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

/** What becomes of the rows of a table, as statements. */
function* setsFor(table: AnyTable, all: ReadonlyMap<string, Fate>): Generator<RowStatement> {
  const fates = [...all.values()];
  const gone = fates.filter((fate) => fate.gone).map(({ key }) => key);
  const changed = fates.flatMap((fate) =>
    fate.changed === undefined ? [] : [{ ...fate.changed, ...fate.key }],
  );
  const put = fates.flatMap(({ put: row }) => (row === undefined ? [] : [row]));
  yield* deletions(table, gone);
  yield* updates(table, changed);
  yield* insertions(table, put);
}

/** Ids of the rows whose writing may move the total of the table. */
function countedIds({ total }: AnyTable, fates: ReadonlyMap<string, Fate>): readonly string[] {
  if (total === undefined) return [];
  return [...fates].flatMap(([id, fate]) => (moves(fate, total) ? [id] : []));
}

/** Whether a total may be another one afterwards. */
const moves = ({ gone, changed, put }: Fate, { columns }: KeptTotal): boolean =>
  gone || put !== undefined || Object.keys(changed ?? {}).some((column) => columns.has(column));
