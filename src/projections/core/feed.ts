import type { Knex } from "knex";
import type { Recorded } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { allOf, begin } from "../../platform/postgres/pipelined.ts";
import { announce, moveFeed, reread } from "./announce.ts";
import type { Batch } from "./batch.ts";
import {
  beforeEverything,
  type FeedName,
  followFeed,
  leaveFeed,
  lockFeed,
  moveCheckpoint,
  type StoredCheckpoint,
} from "./checkpoint.ts";
import {
  applyAfter,
  feedOf,
  type Projection,
  type ProjectionContext,
  type Tx,
} from "./projection.ts";
import { brief, mayPass } from "./retry.ts";

/** The part of a logger that is used here; pino's loggers fit. */
export type Log = Readonly<{
  info: (fields: object, message: string) => void;
  warn: (fields: object, message: string) => void;
  error: (fields: object, message: string) => void;
}>;

export type FeedDeps = Readonly<{
  db: Knex;
  store: EventStore;
  projections: readonly Projection[];
  context: ProjectionContext;
  log: Log;
}>;

/** A checkpoint this far behind the subscription is no gap to fill in passing. */
const gapEventsMax = 1_000;

/** A live checkpoint was set back by hand or by a restored backup. */
class CheckpointTooOld extends Error {
  override readonly name = "CheckpointTooOld";

  constructor(name: string) {
    super(`The checkpoint of ${name} lies far behind the subscription`);
  }
}

/**
 * Applies a batch to all live projections in one transaction. When one of them cannot take it, each
 * is given the batch by itself: the others go on, and that one stops right before the event it
 * cannot apply. It keeps its checkpoint there; nothing is ever skipped.
 *
 * @returns whether all of them are where the feed is now
 * @throws what Postgres says when it cannot be reached now: the same batch may be given again.
 */
export async function feed(deps: FeedDeps, name: FeedName, batch: Batch): Promise<boolean> {
  const projections = deps.projections.filter((projection) => feedOf(projection) === name);
  try {
    const fed = await deps.db.transaction(async (tx) => {
      const areAll = await feedAll(tx, { ...deps, projections }, name, batch);
      const last =
        areAll === undefined ? undefined : await begun(tx, moveFeed(tx, name, batch.upTo));
      return { areAll, last };
    });
    // Where it fails, the commit took everything back.
    await fed.last?.done;
    return fed.areAll === true;
  } catch (error) {
    if (mayPass(error)) throw error;
    for (const projection of projections) await feedAlone(deps, projection, batch);
    await announce(deps.db, reread);
    return false;
  }
}

/** Resolves once the statement is sent, so that the commit can be sent behind it without a wait. */
async function begun(
  tx: Tx,
  statement: PromiseLike<unknown>,
): Promise<Readonly<{ done: Promise<unknown> }>> {
  const sent = new Promise<void>((resolve) => void tx.once("query", () => resolve()));
  const done = begin(statement);
  await Promise.race([sent, done.catch(() => undefined)]);
  return { done };
}

/**
 * The batch into all that are live. The statements of one do not wait for those of another: each has tables of its own.
 *
 * @returns whether these are all there are; undefined when there is none, so that no position has to move
 */
async function feedAll(
  tx: Tx,
  deps: FeedDeps,
  feed: FeedName,
  batch: Batch,
): Promise<boolean | undefined> {
  const [fed, rows] = await Promise.all([lockFeed(tx, feed), readFed(tx)]);
  const live = deps.projections.filter((projection) =>
    isFed(rows.get(projection.name), projection),
  );
  await allOf(live.map((projection) => take(tx, deps, projection, { batch, rows, fed })));
  if (live.length === 0) return undefined;
  const names = new Set(live.map(({ name }) => name));
  const stored = [...rows.values()].filter((row) => row.feed === feed);
  // Who caught up outside of the feed may be ahead of it, and waits for it without taking an event twice.
  const reached = fed > batch.upTo ? fed : batch.upTo;
  const isJoining = ({ name, position }: Fed) =>
    names.has(name) && position !== null && position <= reached;
  // What another release has built follows the feed of that release alone.
  const isLeft = ({ name, position }: Fed) => !names.has(name) && position === null;
  await leaveFeed(
    tx,
    stored.filter(isLeft).map(({ name }) => name),
  );
  await followFeed(
    tx,
    stored.filter(isJoining).map(({ name }) => name),
  );
  const isApart = (row: Fed) => row.position !== null && !isJoining(row);
  return live.length === deps.projections.length && !stored.some(isApart);
}

/** The batch into one of them, which has a position of its own from then on. */
async function feedOne(deps: FeedDeps, projection: Projection, batch: Batch): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const fed = await lockFeed(tx, feedOf(projection));
    const rows = await readFed(tx);
    if (!isFed(rows.get(projection.name), projection)) return;
    await take(tx, deps, projection, { batch, rows, fed });
    await moveCheckpoint(tx, projection.name, batch.upTo);
  });
}

const isFed = (row: Fed | undefined, projection: Projection): boolean =>
  row?.state === "live" && row.version === projection.version && row.feed === feedOf(projection);

/** What the feed has to know of a checkpoint; the tables of 57 take longer to read than all the rest. */
type Fed = Pick<StoredCheckpoint, "name" | "version" | "position" | "state" | "feed">;

async function readFed(tx: Tx): Promise<ReadonlyMap<string, Fed>> {
  const columns = ["name", "version", "position", "state", "feed"] as const;
  const rows = await tx<StoredCheckpoint>("projection_checkpoint").select<Fed[]>(columns);
  return new Map(rows.map((row) => [row.name, row]));
}

type Given = Readonly<{
  batch: Batch;
  rows: ReadonlyMap<string, Fed>;
  /** Where those are that have no position of their own. */
  fed: bigint;
}>;

async function take(
  tx: Tx,
  deps: FeedDeps,
  projection: Projection,
  { batch, rows, fed }: Given,
): Promise<void> {
  const position = rows.get(projection.name)?.position ?? fed;
  const missed = await missedBetween(deps.store, projection, position, batch.after);
  await applyAfter(tx, projection, position, [...missed, ...batch.events], deps.context);
}

/** Usually nothing: events from a checkpoint to the start of a batch that begins after it. */
async function missedBetween(
  store: EventStore,
  projection: Projection,
  position: bigint,
  batchAfter: bigint,
): Promise<readonly Recorded[]> {
  const missed: Recorded[] = [];
  if (position >= batchAfter) return missed;
  for await (const event of store.readAll(readAfter(position))) {
    if (event.position > batchAfter) break;
    if (missed.length === gapEventsMax) throw new CheckpointTooOld(projection.name);
    missed.push(event);
  }
  return missed;
}

async function feedAlone(deps: FeedDeps, projection: Projection, batch: Batch): Promise<void> {
  try {
    await feedOne(deps, projection, batch);
  } catch (error) {
    if (mayPass(error)) throw error;
    if (error instanceof CheckpointTooOld) await setBehind(deps, projection);
    else await stopAt(deps, projection, batch);
  }
}

/** Finds the event it cannot take and applies what comes before: the checkpoint shows where it is. */
async function stopAt(deps: FeedDeps, projection: Projection, batch: Batch): Promise<void> {
  let { after } = batch;
  const events = batch.events.filter(({ type }) => projection.types.has(type));
  try {
    for (const event of events) {
      await feedOne(deps, projection, { after, upTo: event.position, events: [event] });
      after = event.position;
    }
    await feedOne(deps, projection, { after, upTo: batch.upTo, events: [] });
  } catch (error) {
    if (mayPass(error)) throw error;
    await stop(deps, projection, error);
  }
}

/** Stops a projection where it is; it is tried again when a process becomes the leader. */
export async function stop(
  { db, log }: Pick<FeedDeps, "db" | "log">,
  projection: Projection,
  error: unknown,
): Promise<void> {
  const failure = error instanceof Error ? error.message : String(error);
  await leave(db, projection, { state: "failed", failure });
  log.error({ projection: projection.name, err: brief(error) }, "projection stopped");
}

async function setBehind({ db, log }: FeedDeps, projection: Projection): Promise<void> {
  await leave(db, projection, { state: "behind" });
  log.warn({ projection: projection.name }, "projection fell behind the subscription");
}

/** Where it is, whatever the feed does next. */
async function leave(
  db: Knex,
  projection: Projection,
  as: Partial<Pick<StoredCheckpoint, "state" | "failure">>,
): Promise<void> {
  const { name } = projection;
  await db.transaction(async (tx) => {
    await lockFeed(tx, feedOf(projection));
    await leaveFeed(tx, [name]);
    await tx<StoredCheckpoint>("projection_checkpoint").where({ name }).update(as);
  });
}

/** `after` of a read that starts behind a checkpoint. */
export function readAfter(position: bigint): { after?: bigint } {
  return position === beforeEverything ? {} : { after: position };
}
