import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import type { EventStore, ReadAllOptions } from "../../platform/event-store/event-store.ts";
import { Limit } from "../../platform/limit.ts";
import { beforeEverything, readAfter } from "./checkpoint.ts";
import { inSchema } from "./install.ts";
import { applyAfter, type Projection, type ProjectionContext } from "./projection.ts";
import { createLateIndexes, createTables } from "./table.ts";

/** Each read model takes a page in a transaction, of which the statements are the same for any number of events. */
const pageEventsMax = 4_000;
/** Characters in the data of a page: an event may have 1 MiB of them, and two pages are in memory at one time. */
const pageTextMax = 8 * 1024 ** 2;
/** Read models are built side by side on so many connections. */
export const buildersMax = 4;

/** Read models that are built from the log, in a schema of their own. */
export type Building = Readonly<{
  /** Looks names up in the schema. */
  next: Knex;
  schema: string;
  projections: readonly Projection[];
  context: ProjectionContext;
}>;

const builders = new Limit({ name: "rebuild.builders", total: buildersMax, whenFull: "wait" });

const sideBySide = <Result>(
  projections: readonly Projection[],
  work: (projection: Projection) => Promise<Result>,
): Promise<Result[]> =>
  Promise.all(projections.map((projection) => builders.run(() => work(projection))));

/** An empty schema with the tables, whatever an interrupted build left there. */
export async function prepareBuild(
  { next, schema, projections }: Building,
  comment?: string,
): Promise<void> {
  await next.transaction(async (tx) => {
    await tx.raw("drop schema if exists ?? cascade", [schema]);
    await tx.raw("create schema ??", [schema]);
    if (comment !== undefined) await tx.raw(`comment on schema ?? is '${comment}'`, [schema]);
    await inSchema(tx, schema, async () => {
      for (const { tables } of projections) await createTables(tx, tables);
    });
  });
}

/** Applies a page, which every read model takes in a transaction of its own. */
export async function applyPage(
  { next, projections, context }: Building,
  page: readonly Recorded[],
): Promise<void> {
  await sideBySide(
    projections.filter(({ types }) => page.some(({ type }) => types.has(type))),
    (projection) =>
      next.transaction((tx) => applyAfter(tx, projection, beforeEverything, page, context)),
  );
}

/** Makes the indexes that rows are stored faster without, and has PostgreSQL analyze what is in the tables. */
export async function finishTables({ next, schema, projections }: Building): Promise<void> {
  await sideBySide(projections, ({ tables }) =>
    next.transaction(async (tx) => {
      await inSchema(tx, schema, () => createLateIndexes(tx, tables));
      for (const { name } of tables) await tx.raw("analyze ??.??", [schema, name]);
    }),
  );
}

/** The next page is read while this one is worked on. */
export async function* pages(
  store: EventStore,
  after: bigint,
  options: ReadAllOptions = {},
): AsyncGenerator<readonly Recorded[]> {
  const events = store.readAll({ ...options, ...readAfter(after) })[Symbol.asyncIterator]();
  try {
    let reading = readPage(events);
    for (;;) {
      const page = await reading;
      if (page.length === 0) return;
      reading = readPage(events);
      // Awaited on the next turn: until then nothing handles its failure.
      reading.catch(() => undefined);
      yield page;
    }
  } finally {
    await events.return?.();
  }
}

async function readPage(events: AsyncIterator<Recorded>): Promise<readonly Recorded[]> {
  const page: Recorded[] = [];
  let length = 0;
  while (page.length < pageEventsMax && length < pageTextMax) {
    const { done, value } = await events.next();
    if (done === true) break;
    page.push(value);
    // Those of other applications may be nested as deep as they like.
    length += value.isForeign === true ? 0 : textLength(value.data);
  }
  return page;
}

function textLength(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (value === null || typeof value !== "object") return 0;
  return Object.values(value).reduce<number>((length, part) => length + textLength(part), 0);
}
