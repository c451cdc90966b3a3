import { createHash } from "node:crypto";
import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import { BoundedCache } from "../../platform/bounded-cache.ts";
import { beforeEverything } from "./checkpoint.ts";
import { applyAfter, type Projection, type ProjectionContext, type Tx } from "./projection.ts";

/** Applied together: as many as are worth one statement. */
const eventsAtOnce = 2_000;
/** Fewer are applied as fast as rows are written back. */
const eventsWorthKeeping = 50;
const keptBytesMax = 16 * 1024 ** 2;

/** What PostgreSQL writes a row as, by table. */
type Fold = ReadonlyMap<string, string[]>;

/** Of each connection pool; undefined for folds that are too large to be kept. */
const kept = new WeakMap<Knex, BoundedCache<{ fold: Fold | undefined }>>();

export type Filling = Readonly<{
  projection: Projection;
  /** Of its tables, which are empty. */
  schema: string;
  events: readonly Recorded[];
  context: ProjectionContext;
  /** Called before each part of the work. @throws to end it */
  mayGoOn: () => void;
}>;

/**
 * Makes the rows of a read model from events. Events never change, so the rows that the same ones made before are
 * written again, unless personal data was opened for them: its key may have been deleted since.
 */
export async function fill(db: Knex, tx: Tx, order: Filling): Promise<void> {
  const { projection, schema, context } = order;
  const events = order.events.filter(({ type }) => projection.types.has(type));
  if (events.length < eventsWorthKeeping) return apply(tx, { ...order, events });
  const folds = foldsOf(db);
  const key = `${schema} ${digestOf(events)}`;
  const known = folds.get(key);
  if (known?.fold !== undefined) return write(tx, schema, known.fold);
  let isPersonal = false;
  const open: ProjectionContext["open"] = (sealed) => {
    isPersonal = true;
    return context.open(sealed);
  };
  await apply(tx, { ...order, events, context: { ...context, open } });
  if (isPersonal || known !== undefined) return;
  const { fold, bytes } = await read(tx, schema, projection.tables);
  folds.set(key, { fold }, bytes + key.length);
  if (folds.get(key) === undefined) folds.set(key, { fold: undefined }, key.length);
}

async function apply(tx: Tx, { projection, events, context, mayGoOn }: Filling): Promise<void> {
  for (let from = 0; from < events.length; from += eventsAtOnce) {
    mayGoOn();
    const some = events.slice(from, from + eventsAtOnce);
    await applyAfter(tx, projection, beforeEverything, some, context);
  }
}

function foldsOf(db: Knex): BoundedCache<{ fold: Fold | undefined }> {
  const known = kept.get(db) ?? new BoundedCache<{ fold: Fold | undefined }>(keptBytesMax);
  kept.set(db, known);
  return known;
}

/** A position is that of one event. */
const digestOf = (events: readonly Recorded[]): string =>
  createHash("sha256")
    .update(events.map(({ position }) => position).join(" "))
    .digest("base64");

async function read(
  tx: Tx,
  schema: string,
  tables: readonly string[],
): Promise<Readonly<{ fold: Fold; bytes: number }>> {
  const fold = new Map<string, string[]>();
  let bytes = 0;
  for (const table of tables) {
    const { rows } = await tx.raw<{ rows: { text: string }[] }>(
      "select one::text as text from ??.?? as one",
      [schema, table],
    );
    if (rows.length === 0) continue;
    fold.set(
      table,
      rows.map(({ text }) => text),
    );
    bytes += rows.reduce((sum, { text }) => sum + 2 * text.length, 0);
  }
  return { fold, bytes };
}

async function write(tx: Tx, schema: string, fold: Fold): Promise<void> {
  for (const [table, rows] of fold) {
    // Expanded where it is cast, a row would be parsed once a column.
    await tx.raw(
      `insert into ??.?? select (one).*
       from (select text::??.?? as one from unnest(?::text[]) as text offset 0) as given`,
      [schema, table, schema, table, rows],
    );
  }
}
