import { setTimeout as delay } from "node:timers/promises";
import { withLock } from "../../platform/postgres/leader.ts";
import { openPostgres } from "../../platform/postgres.ts";
import { sqlState } from "../../platform/postgres-error.ts";
import {
  applyPage,
  type Building,
  buildersMax,
  finishTables,
  pages,
  prepareBuild,
} from "./build.ts";
import { beforeEverything, type CheckpointRow } from "./checkpoint.ts";
import type { FeedDeps } from "./feed.ts";
import { dropTables, installMissing, liveSchema } from "./install.ts";
import { join, restEventsMax } from "./join.ts";
import type { Projection, Tx } from "./projection.ts";
import { type Comparison, compareTables } from "./verify.ts";
import { wholeLog } from "./whole-log.ts";

/** Where tables grow before they take the place of those in `read_model`. */
export const nextSchema = "read_model_next";
/** Held while that schema is in use. */
export const rebuildLock = "projection rebuild";

/** Shorter than Postgres' deadlock_timeout: in a knot with readers it is never they who lose. */
const swapLockTimeoutMs = 200;
const swapAttemptsMax = 100;
const lockNotAvailable = "55P03";

export type RebuildDeps = FeedDeps & Readonly<{ databaseUrl: string }>;

export type Progress = Readonly<{
  position: bigint;
  head: bigint;
  events: number;
  elapsedMs: number;
}>;

export type RebuildOptions = Readonly<{
  signal: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** Compares the rows before and after, at the same position, while the live ones wait. */
  verify?: boolean;
  /** Only compares: the live ones stay, and what was built is dropped. */
  keep?: boolean;
}>;

/** Ends the transaction of a swap that shall not be. */
class Compared extends Error {
  constructor(readonly comparisons: readonly Comparison[]) {
    super("compared");
  }
}

export type Rebuilt = Readonly<{
  events: number;
  elapsedMs: number;
  /** One a table when verifying; only of tables that stood at the same position before. */
  comparisons: readonly Comparison[];
}>;

/**
 * Builds read models again from the log, beside the ones that are read, and lets each take its place
 * in one short transaction. Undefined when another rebuild is running. What an interrupted one left
 * is not read by anybody and removed by the next.
 *
 * @throws CannotApply when a projection cannot take an event
 */
export async function rebuild(
  deps: RebuildDeps,
  projections: readonly Projection[],
  options: RebuildOptions,
): Promise<Rebuilt | undefined> {
  const held = await withLock(deps.databaseUrl, rebuildLock, options.signal, (signal) =>
    buildAndSwap(deps, projections, { ...options, signal }),
  );
  return held?.result;
}

type Build = Building &
  Readonly<{ deps: RebuildDeps; options: RebuildOptions; startedAt: number }> & {
    position: bigint;
    events: number;
  };

async function buildAndSwap(
  deps: RebuildDeps,
  projections: readonly Projection[],
  options: RebuildOptions,
): Promise<Rebuilt> {
  const { context } = deps;
  const next = openPostgres(deps.databaseUrl, {
    searchPath: [nextSchema, "public"],
    poolMax: buildersMax,
    applicationName: "ledgerforge rebuild",
  });
  const startedAt = performance.now();
  const building = { next, schema: nextSchema, projections, context };
  const build: Build = {
    ...{ ...building, deps, options, startedAt },
    ...{ position: beforeEverything, events: 0 },
  };
  try {
    await deps.db.transaction(async (tx) => {
      // A backup may have been restored without the read models.
      await tx.raw("create schema if not exists ??", [liveSchema]);
      await installMissing(tx, projections);
    });
    await prepareBuild(build);
    await buildToEnd(build);
    const comparisons: Comparison[] = [];
    for (const projection of projections) comparisons.push(...(await swap(build, projection)));
    return { events: build.events, elapsedMs: performance.now() - startedAt, comparisons };
  } finally {
    await next.raw("drop schema if exists ?? cascade", [nextSchema]).catch(() => undefined);
    await next.destroy();
  }
}

/** Reads on as long as a pass over the log still finds more than what the swap itself can apply. */
async function buildToEnd(build: Build): Promise<void> {
  let before: number;
  do {
    before = build.events;
    await buildPass(build, build.projections);
    if (before === 0) await finishTables(build);
  } while (build.events - before > restEventsMax);
}

/** From where the build stands to the end of the log as it is met. */
async function buildPass(build: Build, projections: readonly Projection[]): Promise<void> {
  const { deps, options, startedAt } = build;
  let head = (await deps.store.head()) ?? beforeEverything;
  const whole = await wholeLog(deps.db);
  for await (const page of pages(deps.store, build.position, whole)) {
    options.signal.throwIfAborted();
    await applyPage({ ...build, projections }, page);
    build.position = page.at(-1)?.position ?? build.position;
    build.events += page.length;
    if (build.position > head) head = build.position;
    const elapsedMs = performance.now() - startedAt;
    options.onProgress?.({ position: build.position, head, events: build.events, elapsedMs });
  }
}

/** Puts the new tables of one projection in the place of the old ones, and makes it live. */
async function swap(build: Build, projection: Projection): Promise<readonly Comparison[]> {
  const { deps, options, projections } = build;
  for (let attempt = 1; ; attempt += 1) {
    options.signal.throwIfAborted();
    let comparisons: readonly Comparison[] = [];
    const finish = async (tx: Tx, row: CheckpointRow): Promise<void> => {
      if (options.verify) comparisons = await compare(tx, projection, row);
      if (options.keep) throw new Compared(comparisons);
      await replaceTables(tx, projection, row);
    };
    try {
      const built = { schema: nextSchema, position: build.position, finish };
      if (await join(deps, projection, built)) return comparisons;
      // Those before it have taken the places of the old ones.
      await buildPass(build, projections.slice(projections.indexOf(projection)));
    } catch (error) {
      if (error instanceof Compared) return error.comparisons;
      if (sqlState(error) !== lockNotAvailable || attempt === swapAttemptsMax) throw error;
      await delay(swapLockTimeoutMs * Math.random());
    }
  }
}

/** Only rows of the same events can be compared: a failed or outdated one does not. */
async function compare(
  tx: Tx,
  { version, tables }: Projection,
  row: CheckpointRow,
): Promise<readonly Comparison[]> {
  if (row.state !== "live" || row.version !== version) return [];
  const comparisons: Comparison[] = [];
  for (const table of tables) {
    comparisons.push(await compareTables(tx, table.name, [liveSchema, nextSchema]));
  }
  return comparisons;
}

async function replaceTables(
  tx: Tx,
  { name, tables }: Projection,
  row: CheckpointRow,
): Promise<void> {
  await tx.raw("select set_config('lock_timeout', ?, true)", [`${swapLockTimeoutMs}ms`]);
  await dropTables(tx, liveSchema, row.tables);
  for (const table of tables) {
    await tx.raw("alter table ??.?? set schema ??", [nextSchema, table.name, liveSchema]);
  }
  // What was made from the log that was there before is made again as well.
  await tx("as_of_snapshot").withSchema("public").where({ read_model: name }).delete();
}
