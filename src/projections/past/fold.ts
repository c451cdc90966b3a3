import type { Recorded } from "../../events/core/event.ts";
import { breather } from "../../platform/breather.ts";
import { beforeEverything } from "../core/checkpoint.ts";
import {
  applyAfter,
  type Projection,
  type ProjectionContext,
  type Tx,
} from "../core/projection.ts";

/** Applied together: as many as are worth one statement, and no more than are written in a short turn. */
const eventsAtOnce = 2_000;
const bytesAtOnce = 1024 ** 2;

/** Rows as PostgreSQL writes them, by table. */
export type Fold = Readonly<Record<string, readonly string[]>>;

/** What is written down of a fold on its way. */
type FoldStop = Readonly<{
  /** After how many of its events. */
  after: number;
  /** Called unless personal data was opened for the rows. */
  take: (fold: Fold, bytes: number) => void;
}>;

export type Filling = Readonly<{
  projection: Projection;
  /** Of its tables, which are empty. */
  schema: string;
  events: readonly Recorded[];
  /** Rows that earlier events of the same things made. */
  start?: Fold | undefined;
  stop?: FoldStop | undefined;
  context: ProjectionContext;
  /** Called before each part of the work. @throws to end it */
  mayGoOn: () => void;
}>;

/** Makes the rows of a read model from those of a snapshot and the events since. */
export async function fill(tx: Tx, order: Filling): Promise<void> {
  const { projection, schema, start = {}, stop, context } = order;
  const events = order.events.filter(({ type }) => projection.types.has(type));
  let isPersonal = false;
  const open: ProjectionContext["open"] = (sealed) => {
    isPersonal = true;
    return context.open(sealed);
  };
  const rest = { ...order, context: { ...context, open } };
  await restore(tx, schema, start);
  if (stop !== undefined) {
    await apply(tx, { ...rest, events: events.slice(0, stop.after) });
    const { fold, bytes } = await read(tx, order);
    if (!isPersonal) stop.take(fold, bytes);
  }
  await apply(tx, { ...rest, events: events.slice(stop?.after ?? 0) });
}

async function apply(tx: Tx, { projection, events, context, mayGoOn }: Filling): Promise<void> {
  const breathe = breather();
  let some: Recorded[] = [];
  let bytes = 0;
  for (const event of events) {
    some.push(event);
    bytes += JSON.stringify(event.data).length;
    if (some.length === eventsAtOnce || bytes >= bytesAtOnce) {
      mayGoOn();
      await applyAfter(tx, projection, beforeEverything, some, context);
      [some, bytes] = [[], 0];
    }
    await breathe();
  }
  mayGoOn();
  await applyAfter(tx, projection, beforeEverything, some, context);
}

async function read(
  tx: Tx,
  { projection, schema }: Filling,
): Promise<Readonly<{ fold: Fold; bytes: number }>> {
  const fold: Record<string, readonly string[]> = {};
  let bytes = 0;
  // Totals follow from the rows that they count.
  const totals = projection.tables.flatMap(({ counts = [] }) => counts.map(({ table }) => table));
  for (const table of projection.tables) {
    const { name } = table;
    if (totals.includes(table)) continue;
    const { rows } = await tx.raw<{ rows: { text: string }[] }>(
      "select one::text as text from ??.?? as one",
      [schema, name],
    );
    if (rows.length === 0) continue;
    fold[name] = rows.map(({ text }) => text);
    bytes += rows.reduce((sum, { text }) => sum + 2 * text.length, 0);
  }
  return { fold, bytes };
}

async function restore(tx: Tx, schema: string, fold: Fold): Promise<void> {
  for (const [table, rows] of Object.entries(fold)) {
    // Expanded where it is cast, a row would be parsed once a column.
    await tx.raw(
      `insert into ??.?? select (one).*
       from (select text::??.?? as one from unnest(?::text[]) as text offset 0) as given`,
      [schema, table, schema, table, [...rows]],
    );
  }
}
