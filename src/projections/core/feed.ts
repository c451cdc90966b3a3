import type { Knex } from "knex";

import type { EventStore } from "../../platform/event-store/event-store.ts";
import { allOf } from "./all-of.ts";
import { moveFeed } from "./announce.ts";
import type { Batch } from "./batch.ts";
import { lockFeed, type StoredCheckpoint, stopWhere } from "./checkpoint.ts";
import {
  applyAfter,
  CannotApply,
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

/**
 * Applies a batch to all live read models and moves the feed in one transaction: after a crash, either all of it
 * happened or nothing did. When one of them cannot take an event, the events are given one by one, and that read
 * model stops right before the event; it keeps its checkpoint there, and nothing is ever skipped.
 *
 * @throws what PostgreSQL says when it cannot be reached now: the same batch may be given again
 */
export async function feed(deps: FeedDeps, batch: Batch): Promise<void> {
  try {
    await deps.db.transaction((tx) => feedLive(tx, deps, batch));
  } catch (error) {
    if (mayPass(error)) throw error;
    if (batch.events.length > 1) return feedOneByOne(deps, batch);
    const failed = failedBy(error, deps);
    if (failed === undefined) throw error;
    await stop(deps, failed, error);
    await feed(deps, batch);
  }
}

async function feedOneByOne(deps: FeedDeps, { after, upTo, events }: Batch): Promise<void> {
  let position = after;
  for (const event of events) {
    await feed(deps, { after: position, upTo: event.position, events: [event] });
    position = event.position;
  }
  await feed(deps, { after: position, upTo, events: [] });
}

async function feedLive(tx: Tx, deps: FeedDeps, batch: Batch): Promise<void> {
  // Read under the lock: what joins the live ones holds it as well.
  const [fed, stored] = await Promise.all([
    lockFeed(tx),
    tx<StoredCheckpoint>("projection_checkpoint").where({ state: "live" }),
  ]);
  const rows = new Map(stored.map((row) => [row.name, row]));
  // What another release has built follows the feed of that release alone.
  const live = deps.projections.filter(({ name, version }) => rows.get(name)?.version === version);
  // Each has tables of its own, so none waits for the statements of another.
  await allOf(
    live.map((projection) => {
      // Who caught up outside of the feed may be ahead of it, and takes no event twice.
      const after = rows.get(projection.name)?.position ?? fed;
      return applyAfter(tx, projection, after, batch.events, deps.context);
    }),
  );
  const names = live.map(({ name }) => name);
  await moveFeed(tx, { from: fed, to: batch.upTo, live: names });
}

/** The read model that cannot apply an event, if that is what the error says. */
export const failedBy = (
  error: unknown,
  { projections }: Pick<FeedDeps, "projections">,
): Projection | undefined =>
  projections.find(({ name }) => error instanceof CannotApply && name === error.projection);

/** Stops a projection where it is; it is tried again when a process becomes the leader. */
export async function stop(
  { db, log }: Pick<FeedDeps, "db" | "log">,
  { name }: Projection,
  error: unknown,
): Promise<void> {
  const failure = error instanceof Error ? error.message : String(error);
  await stopWhere(db, { name }, failure);
  log.error({ projection: name, err: brief(error) }, "projection stopped");
}
