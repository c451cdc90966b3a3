import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import { withLock } from "../../platform/postgres/leader.ts";
import { openPostgres } from "../../platform/postgres.ts";
import { applyPage, buildersMax, finishTables, pages, prepareBuild } from "../core/build.ts";
import { beforeEverything } from "../core/checkpoint.ts";
import type { Projection } from "../core/projection.ts";
import { nextSchema, type RebuildDeps, type RebuildOptions, rebuildLock } from "../core/rebuild.ts";
import { wholeLog } from "../core/whole-log.ts";

/** Up to and with a position, or before the first event that happened after a time. */
export type LogEnd = Readonly<{ position: bigint }> | Readonly<{ time: Date }>;

export type PastOptions = Pick<RebuildOptions, "signal" | "onProgress"> &
  Readonly<{
    /** Name of the schema; see `isPastSchema`. */
    schema: string;
    until: LogEnd;
  }>;

export type PastBuilt = Readonly<{
  events: number;
  /** Of the last event that counts; -1 before all of them. */
  position: bigint;
  elapsedMs: number;
}>;

/** The schema is there and was not made by `rebuild --until`: nothing of it is touched. */
export class SchemaTaken extends Error {
  override readonly name = "SchemaTaken";
}

const mark = "Read models of the past, made by ledgerforge rebuild --until";
const halfBuilt = "_building";
const reserved =
  /^(?:pg_|as_of_|read_model(?:_next)?$|public$|bullmq$|information_schema$)|_building$/;

/** Lower case letters, digits and `_`, and none that anything else is named by. */
export const isPastSchema = (name: string): boolean =>
  /^[a-z][a-z0-9_]{0,49}$/.test(name) && !reserved.test(name);

/**
 * Builds read models from the beginning of the log up to somewhere, into a schema of their own, to be queried with
 * SQL. The live ones are not touched. It takes the place of an earlier one of this name once it is whole.
 *
 * @returns undefined when another process builds this schema
 * @throws SchemaTaken; CannotApply when a projection cannot take an event
 */
export async function rebuildUntil(
  deps: RebuildDeps,
  projections: readonly Projection[],
  options: PastOptions,
): Promise<PastBuilt | undefined> {
  const { schema } = options;
  await dropLeftOver(deps, options);
  const held = await withLock(deps.databaseUrl, lockOf(schema), options.signal, async (signal) => {
    for (const name of [schema, `${schema}${halfBuilt}`]) await mustBeOurs(deps.db, name);
    return build(deps, projections, { ...options, signal });
  });
  return held?.result;
}

const lockOf = (schema: string): string => `projection rebuild ${schema}`;

type Builds = Pick<RebuildDeps, "db" | "databaseUrl">;

/** Drops what killed processes left half built under other names; no process holds their locks. */
async function dropLeftOver(
  { db, databaseUrl }: Builds,
  { schema, signal }: Readonly<{ schema?: string; signal: AbortSignal }>,
): Promise<void> {
  for (const name of await schemasOfPast(db)) {
    if (!name.endsWith(halfBuilt) || name === `${schema}${halfBuilt}`) continue;
    const lock = lockOf(name.slice(0, -halfBuilt.length));
    await withLock(databaseUrl, lock, signal, () => drop(db, name));
  }
}

/** Drops what killed rebuilds of any kind left half built; what a running one builds stays. */
export async function dropHalfBuilt(deps: Builds, signal: AbortSignal): Promise<void> {
  await dropLeftOver(deps, { signal });
  await withLock(deps.databaseUrl, rebuildLock, signal, () => drop(deps.db, nextSchema));
}

async function drop(db: Knex, schema: string): Promise<void> {
  await db.raw("drop schema if exists ?? cascade", [schema]);
}

/** Schemas that `rebuildUntil` has made or is making. */
export async function schemasOfPast(db: Knex): Promise<readonly string[]> {
  const { rows } = await db.raw<{ rows: { name: string }[] }>(
    `select nspname as name from pg_namespace
     where obj_description(oid, 'pg_namespace') = ? order by nspname`,
    [mark],
  );
  return rows.map(({ name }) => name);
}

async function mustBeOurs(db: Knex, schema: string): Promise<void> {
  const { rows } = await db.raw<{ rows: { comment: string | null }[] }>(
    "select obj_description(oid, 'pg_namespace') as comment from pg_namespace where nspname = ?",
    [schema],
  );
  const [found] = rows;
  if (found === undefined || found.comment === mark) return;
  throw new SchemaTaken(`The schema ${schema} is there and holds something else`);
}

async function build(
  deps: RebuildDeps,
  projections: readonly Projection[],
  { schema, until, signal, onProgress }: PastOptions,
): Promise<PastBuilt> {
  const draft = `${schema}${halfBuilt}`;
  const next = openPostgres(deps.databaseUrl, {
    searchPath: [draft, "public"],
    poolMax: buildersMax,
    applicationName: "ledgerforge rebuild",
  });
  const building = { next, schema: draft, projections, context: deps.context };
  const startedAt = performance.now();
  let [events, position] = [0, beforeEverything];
  try {
    await prepareBuild(building, mark);
    const end = (await deps.store.head()) ?? beforeEverything;
    const head = "position" in until && until.position < end ? until.position : end;
    for await (const page of pagesUntil(deps, until)) {
      signal.throwIfAborted();
      await applyPage(building, page);
      events += page.length;
      position = page.at(-1)?.position ?? position;
      const elapsedMs = performance.now() - startedAt;
      onProgress?.({ position, head: position > head ? position : head, events, elapsedMs });
    }
    await finishTables(building);
    await next.transaction(async (tx) => {
      // Another session may have created a schema of this name meanwhile.
      await mustBeOurs(tx, schema);
      await tx.raw("drop schema if exists ?? cascade", [schema]);
      await tx.raw("alter schema ?? rename to ??", [draft, schema]);
    });
    return { events, position, elapsedMs: performance.now() - startedAt };
  } finally {
    await next.raw("drop schema if exists ?? cascade", [draft]).catch(() => undefined);
    await next.destroy();
  }
}

async function* pagesUntil(
  { store, db }: Pick<RebuildDeps, "store" | "db">,
  until: LogEnd,
): AsyncGenerator<readonly Recorded[]> {
  for await (const page of pages(store, beforeEverything, await wholeLog(db))) {
    const part = page.slice(0, endIn(page, until));
    yield part;
    if (part.length < page.length) return;
  }
}

/** How many events of a page still count. */
function endIn(page: readonly Recorded[], until: LogEnd): number {
  const isAfter = ({ position, metadata, isForeign, recordedAt }: Recorded): boolean => {
    if (!("time" in until)) return position > until.position;
    const at = isForeign === true ? recordedAt.getTime() : Date.parse(metadata.occurredAt);
    return at > until.time.getTime();
  };
  const first = page.findIndex(isAfter);
  return first === -1 ? page.length : first;
}
