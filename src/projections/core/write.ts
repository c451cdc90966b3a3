import { allOf } from "./all-of.ts";
import { announceChange, type Subject } from "./announce.ts";
import type { Change } from "./change.ts";
import type { Tx } from "./projection.ts";
import { deletions, insertions, updates } from "./row-sql.ts";
import type { AnyTable, Columns } from "./table.ts";

/** What becomes of the row of a key that no statement was sent for yet: it is removed first, then changed, then put. */
type PendingRow = {
  key: Columns;
  removed: boolean;
  changed: Columns | undefined;
  put: Columns | undefined;
};

/**
 * Writes what a batch of events does to rows. Changes of rows by their keys are collected, and only their sum is sent,
 * in one statement for all rows of a table; before a change by other columns those of its table are sent, before a
 * statement all. Last comes what stored rows decide: first what is looked up, then what is derived.
 */
export async function write(tx: Tx, changes: readonly Change[]): Promise<void> {
  const lookUps: LookUp[] = [];
  await allOf([...statementsOf(tx, changes, lookUps)]);
  if (lookUps.length > 0) await write(tx, await lookedUp(tx, lookUps));
  await allOf([...derivations(tx, changes)]);
}

function* statementsOf(
  tx: Tx,
  changes: readonly Change[],
  lookUps: LookUp[],
): Generator<PromiseLike<unknown>> {
  const pending: Pending = new Map();
  for (const each of changes) {
    if (each.kind === "announce" || each.kind === "derive") continue;
    if (each.kind === "look-up") lookUps.push(each);
    else if (each.kind === "statement") {
      yield* writesOf(tx, pending);
      yield tx.raw(each.text, each.bindings as never);
    } else if (each.kind === "put" || isKey(each.table, each.where)) {
      if (changesWrittenOnce(pending, each)) yield* writesOfTable(tx, pending, each.table);
      note(rowOf(pending, each), each);
    } else {
      yield* writesOfTable(tx, pending, each.table);
      yield* each.kind === "remove"
        ? deletions(tx, each.table, [each.where])
        : updates(tx, each.table, [{ ...each, columns: defined(each.columns) }]);
    }
  }
  yield* writesOf(tx, pending);
}

function* derivations(tx: Tx, changes: readonly Change[]): Generator<PromiseLike<unknown>> {
  const derived = new Map<string, Set<string>>();
  const announced = new Set<Subject>();
  for (const each of changes) {
    if (each.kind === "announce") announced.add(each.subject);
    if (each.kind === "derive") {
      derived.set(each.text, (derived.get(each.text) ?? new Set()).add(each.id));
    }
  }
  for (const [text, ids] of derived) yield tx.raw(text, [[...ids]]);
  for (const subject of announced) yield announceChange(tx, subject);
}

type LookUp = Extract<Change, Readonly<{ kind: "look-up" }>>;

async function lookedUp(tx: Tx, all: readonly LookUp[]): Promise<readonly Change[]> {
  const rows = new Map<string, ReadonlyMap<string, never>>();
  for (const text of new Set(all.map((each) => each.text))) {
    const ids = new Set(all.filter((each) => each.text === text).map(({ id }) => id));
    const found = await tx.raw<{ rows: readonly { id: string }[] }>(text, [[...ids]]);
    rows.set(text, new Map(found.rows.map((row) => [row.id, row as never])));
  }
  return all.flatMap(({ text, id, changeOf }) => {
    const row = rows.get(text)?.get(id);
    return row === undefined ? [] : [changeOf(row)];
  });
}

type Pending = Map<AnyTable, Map<string, PendingRow>>;

type RowChange = Extract<Change, Readonly<{ table: AnyTable }>>;

const isKey = ({ key }: AnyTable, where: Columns): boolean =>
  Object.keys(where).length === key.length && key.every((column) => Object.hasOwn(where, column));

function keyOf(each: RowChange): Columns {
  const values = each.kind === "put" ? each.row : each.where;
  return Object.fromEntries(each.table.key.map((column) => [column, values[column]]));
}

const nameOf = (each: RowChange): string => Object.values(keyOf(each)).map(String).join("\n");

function rowOf(pending: Pending, each: RowChange): PendingRow {
  const { table } = each;
  const rows = pending.get(table) ?? new Map<string, PendingRow>();
  pending.set(table, rows);
  const key = keyOf(each);
  const name = nameOf(each);
  const row = rows.get(name) ?? { key, removed: false, changed: undefined, put: undefined };
  rows.set(name, row);
  return row;
}

/** A row that is there keeps these columns when it is put, so a change of them is sent after that. */
function changesWrittenOnce(pending: Pending, each: RowChange): boolean {
  const { writtenOnce = [] } = each.table;
  if (
    each.kind !== "change" ||
    !writtenOnce.some((column) => Object.hasOwn(each.columns, column))
  ) {
    return false;
  }
  return pending.get(each.table)?.get(nameOf(each))?.put !== undefined;
}

function note(row: PendingRow, each: RowChange): void {
  if (each.kind === "remove") {
    Object.assign(row, { removed: true, changed: undefined, put: undefined });
  } else if (each.kind === "change") {
    const columns = defined(each.columns);
    if (row.put !== undefined) row.put = { ...row.put, ...columns };
    else if (!row.removed) row.changed = { ...row.changed, ...columns };
  } else {
    row.put =
      row.put === undefined ? each.row : { ...row.put, ...rewritable(each.table, each.row) };
  }
}

const rewritable = ({ writtenOnce = [] }: AnyTable, columns: Columns): Columns =>
  Object.fromEntries(Object.entries(columns).filter(([column]) => !writtenOnce.includes(column)));

const defined = (columns: Columns): Columns =>
  Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));

function* writesOf(tx: Tx, pending: Pending): Generator<PromiseLike<unknown>> {
  for (const table of pending.keys()) yield* writesOfTable(tx, pending, table);
}

function* writesOfTable(
  tx: Tx,
  pending: Pending,
  table: AnyTable,
): Generator<PromiseLike<unknown>> {
  const rows = [...(pending.get(table)?.values() ?? [])];
  pending.delete(table);
  const removed = rows.filter((row) => row.removed).map(({ key }) => key);
  const changed = rows.flatMap(({ key, changed: columns }) =>
    columns === undefined || Object.keys(columns).length === 0 ? [] : [{ where: key, columns }],
  );
  const inserted = rows.flatMap(({ put }) => (put === undefined ? [] : [put]));
  yield* deletions(tx, table, removed);
  yield* updates(tx, table, changed);
  yield* insertions(tx, table, inserted);
}
