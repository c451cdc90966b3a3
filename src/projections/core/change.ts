import type { Knex } from "knex";

import type { Subject } from "./announce.ts";
import type { AnyTable, Columns, Table } from "./table.ts";

type Bindings = readonly Knex.RawBinding[] | Readonly<Record<string, Knex.RawBinding>>;

/**
 * What an event does to rows. Of a batch, changes and statements happen in the order of the log, then what is looked up,
 * then what is derived and announced; see `write`.
 */
export type Change =
  | Readonly<{ kind: "put"; table: AnyTable; row: Columns }>
  | Readonly<{ kind: "change"; table: AnyTable; where: Columns; columns: Columns }>
  | Readonly<{ kind: "remove"; table: AnyTable; where: Columns }>
  | Readonly<{ kind: "statement"; text: string; bindings: Bindings }>
  | Readonly<{ kind: "look-up"; text: string; id: string; changeOf: (row: never) => Change }>
  | Readonly<{ kind: "derive"; text: string; id: string }>
  | Readonly<{ kind: "announce"; subject: Subject }>;

/** Columns without a value stay as they are. */
export type Values<Row> = { readonly [Column in keyof Row]?: Row[Column] | undefined };

/** Inserts a row; of one with this key the columns take the new values, but those that the table keeps. */
export const put = <Row extends object>(table: Table<Row>, row: Partial<NoInfer<Row>>): Change => ({
  kind: "put",
  table,
  row: row as Columns,
});

/**
 * Gives columns of rows new values.
 *
 * @param where values of the key, or of columns that an index begins with
 */
export const change = <Row extends object>(
  table: Table<Row>,
  where: Partial<NoInfer<Row>>,
  columns: Values<NoInfer<Row>>,
): Change => ({ kind: "change", table, where: where as Columns, columns });

/** @param where as of `change` */
export const remove = <Row extends object>(
  table: Table<Row>,
  where: Partial<NoInfer<Row>>,
): Change => ({ kind: "remove", table, where: where as Columns });

/** The same of several tables that have the columns. */
export const removeAll = (tables: readonly AnyTable[], where: Columns): readonly Change[] =>
  tables.map((table) => ({ kind: "remove", table, where }));

/** What only stored rows know: it runs after the changes before it, and before those that follow. */
export const statement = (text: string, bindings: Bindings): Change => ({
  kind: "statement",
  text,
  bindings,
});

/**
 * A change of rows that another stored row decides by a function: all of a batch after its other changes, but before
 * what is derived.
 *
 * @param text takes an array of ids and gives rows with these; of an id without a row nothing follows
 */
export const lookUp = <Row extends Readonly<{ id: string }>>(
  text: string,
  id: string,
  changeOf: (row: Row) => Change,
): Change => ({ kind: "look-up", text, id, changeOf });

/**
 * Rows that follow from others: once for a batch of events, after all other changes of it.
 *
 * @param text takes one parameter, an array of the ids that were given with this text
 */
export const derive = (text: string, id: string): Change => ({ kind: "derive", text, id });

/** See `announceChange`; once for a batch. */
export const announce = (subject: Subject): Change => ({ kind: "announce", subject });
