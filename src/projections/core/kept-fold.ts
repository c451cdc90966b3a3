import { createHash } from "node:crypto";
import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import { BoundedCache } from "../../platform/bounded-cache.ts";
import { breather } from "../../platform/breather.ts";
import { allOf } from "../../platform/postgres/pipelined.ts";
import type { Statement } from "../../platform/postgres/together.ts";
import { beforeEverything } from "./checkpoint.ts";
import { applyAfter, type Projection, type ProjectionContext, type Tx } from "./projection.ts";
import { mayPass } from "./retry.ts";

/** Applied together: as many as are worth one statement, and no more than are written in a short turn. */
const eventsAtOnce = 2_000;
const bytesAtOnce = 1024 ** 2;
/** Fewer are applied as fast as rows are written back. */
const eventsWorthKeeping = 50;
const keptBytesMax = 16 * 1024 ** 2;

/** What PostgreSQL writes a row as, by table. */
export type Fold = Readonly<Record<string, readonly string[]>>;

/** Rows that earlier events of the same things made. */
type FoldStart = Readonly<{ key: string; rows: Fold }>;

/** What is written down of a fold on its way. */
type FoldStop = Readonly<{
  /** After how many of its events. */
  after: number;
  /** Called unless personal data was opened for the rows. @returns whether they will be a start for other folds */
  take: (fold: Fold, bytes: number) => boolean;
}>;

/** Of each connection pool; undefined for folds that are too large to be kept. */
const kept = new WeakMap<Knex, BoundedCache<{ fold: Fold | undefined }>>();

export type Filling = Readonly<{
  projection: Projection;
  /** Of its tables, which are empty. */
  schema: string;
  events: readonly Recorded[];
  /** What stands before the events; nothing unless given. */
  start?: FoldStart | undefined;
  stop?: FoldStop | undefined;
  context: ProjectionContext;
  /** Called before each part of the work. @throws to end it */
  mayGoOn: () => void;
}>;

/**
 * The statements that make the rows of a read model; undefined where these take reading, see `fill`. Events never
 * change, so the rows that the same ones made before are written again, unless personal data was opened for them: its
 * key may have been deleted since.
 */
export async function fillStatements(
  db: Knex,
  tx: Tx,
  order: Filling,
): Promise<readonly Statement[] | undefined> {
  const { projection, schema, start, stop, context } = order;
  const events = handledOf(order);
  if (events.length >= eventsWorthKeeping) {
    const fold = foldsOf(db).get(keyOf(order, events))?.fold;
    return fold && written(tx, schema, fold);
  }
  if (stop !== undefined) return undefined;
  const before = start === undefined ? [] : written(tx, schema, start.rows);
  if (events.length === 0) return before;
  try {
    const all = await projection.statements?.(tx, events, context);
    return all && [...before, ...all];
  } catch (error) {
    if (mayPass(error)) throw error;
    // What is wrong is found out event by event.
    return undefined;
  }
}

/** Makes the rows of a read model where `fillStatements` gives none. */
export async function fill(db: Knex, tx: Tx, order: Filling): Promise<void> {
  const { projection, schema, start, stop, context } = order;
  const events = handledOf(order);
  let isPersonal = false;
  const open: ProjectionContext["open"] = (sealed) => {
    isPersonal = true;
    return context.open(sealed);
  };
  const rest = { ...order, events, context: { ...context, open } };
  await allOf(start === undefined ? [] : written(tx, schema, start.rows));
  let isTaken = false;
  if (stop !== undefined) {
    await apply(tx, { ...rest, events: events.slice(0, stop.after) });
    const { fold, bytes } = await read(tx, schema, projection.tables);
    if (!isPersonal) isTaken = stop.take(fold, bytes);
  }
  await apply(tx, { ...rest, events: events.slice(stop?.after ?? 0) });
  if (events.length < eventsWorthKeeping || isPersonal || isTaken) return;
  const folds = foldsOf(db);
  const key = keyOf(order, events);
  if (folds.get(key) !== undefined) return;
  const { fold, bytes } = await read(tx, schema, projection.tables);
  folds.set(key, { fold }, bytes + key.length);
  if (folds.get(key) === undefined) folds.set(key, { fold: undefined }, key.length);
}

const handledOf = ({ projection, events }: Filling): readonly Recorded[] =>
  events.filter(({ type }) => projection.types.has(type));

/** A position is that of one event. */
function keyOf({ schema, start }: Filling, events: readonly Recorded[]): string {
  const positions = events.map(({ position }) => position).join(" ");
  const digest = createHash("sha256").update(positions).digest("base64");
  return `${schema} ${start?.key ?? ""} ${digest}`;
}

async function apply(tx: Tx, { projection, events, context, mayGoOn }: Filling): Promise<void> {
  const breathe = breather();
  let some: Recorded[] = [];
  let bytes = 0;
  const applied = async (): Promise<void> => {
    mayGoOn();
    await applyAfter(tx, projection, beforeEverything, some, context);
    some = [];
    bytes = 0;
  };
  for (const event of events) {
    some.push(event);
    bytes += JSON.stringify(event.data).length;
    if (some.length === eventsAtOnce || bytes >= bytesAtOnce) await applied();
    await breathe();
  }
  if (some.length > 0) await applied();
}

function foldsOf(db: Knex): BoundedCache<{ fold: Fold | undefined }> {
  const known = kept.get(db) ?? new BoundedCache<{ fold: Fold | undefined }>(keptBytesMax);
  kept.set(db, known);
  return known;
}

async function read(
  tx: Tx,
  schema: string,
  tables: readonly string[],
): Promise<Readonly<{ fold: Fold; bytes: number }>> {
  const fold: Record<string, readonly string[]> = {};
  let bytes = 0;
  for (const table of tables) {
    const { rows } = await tx.raw<{ rows: { text: string }[] }>(
      "select one::text as text from ??.?? as one",
      [schema, table],
    );
    if (rows.length === 0) continue;
    fold[table] = rows.map(({ text }) => text);
    bytes += rows.reduce((sum, { text }) => sum + 2 * text.length, 0);
  }
  return { fold, bytes };
}

const written = (tx: Tx, schema: string, fold: Fold): readonly Knex.Raw[] =>
  Object.entries(fold).map(([table, rows]) =>
    // Expanded where it is cast, a row would be parsed once a column.
    tx.raw(
      `insert into ??.?? select (one).*
       from (select text::??.?? as one from unnest(?::text[]) as text offset 0) as given`,
      [schema, table, schema, table, [...rows]],
    ),
  );
