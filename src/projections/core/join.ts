import type { Recorded } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { announce, reread } from "./announce.ts";
import {
  type CheckpointRow,
  lockCheckpoints,
  lockFeed,
  type StoredCheckpoint,
} from "./checkpoint.ts";
import { type FeedDeps, readAfter } from "./feed.ts";
import { inSchema } from "./install.ts";
import { applyAfter, feedOf, type Projection, type Tx } from "./projection.ts";

/** What may be left to apply while everything else waits. */
export const restEventsMax = 500;

/** Tables of a projection that caught up with the log outside of the subscription. */
export type Built = Readonly<{
  schema: string;
  position: bigint;
  /** What else turns them into the ones that are read, under the same locks. */
  finish?: (tx: Tx, row: CheckpointRow) => Promise<void>;
}>;

/**
 * Makes a projection live: under the lock of the feed, so that the subscription stands still, applies the rest up to where the live ones are. False when the rest is too long to let the
 * others wait; nothing has changed then.
 */
export async function join(deps: FeedDeps, projection: Projection, built: Built): Promise<boolean> {
  const feed = feedOf(projection);
  const together = deps.projections.filter((other) => feedOf(other) === feed);
  const names = together.map(({ name }) => name);
  return deps.db.transaction(async (tx) => {
    const fed = await lockFeed(tx, feed);
    const stored = await lockCheckpoints(tx, names);
    const rows = [...stored.values()].map((row) => ({ ...row, position: row.position ?? fed }));
    const row = rows.find(({ name }) => name === projection.name);
    if (row === undefined) return false;
    const target = furthest(rows.filter(({ state }) => state === "live"));
    const rest = await readRest(deps.store, built.position, target);
    if (rest.length > restEventsMax) return false;
    await inSchema(tx, built.schema, () =>
      applyAfter(tx, projection, built.position, rest, deps.context),
    );
    await built.finish?.(tx, row);
    const reached = [built.position, target, rest.at(-1)?.position];
    await tx<StoredCheckpoint>("projection_checkpoint")
      .where({ name: projection.name })
      .update({
        version: projection.version,
        tables: [...projection.tables],
        position: max(reached),
        state: "live",
        failure: null,
      });
    await announce(tx, reread);
    return true;
  });
}

function furthest(rows: readonly CheckpointRow[]): bigint | undefined {
  return rows.length === 0 ? undefined : max(rows.map(({ position }) => position));
}

function max(positions: readonly (bigint | undefined)[]): bigint {
  return positions.reduce<bigint>(
    (most, position) => (position !== undefined && position > most ? position : most),
    -1n,
  );
}

/** Up to where the live ones are; to the end of the log when there are none. One more than allowed. */
async function readRest(
  store: EventStore,
  position: bigint,
  target: bigint | undefined,
): Promise<readonly Recorded[]> {
  const rest: Recorded[] = [];
  if (target !== undefined && position >= target) return rest;
  const options = { ...readAfter(position), countMax: restEventsMax + 1 };
  for await (const event of store.readAll(options)) {
    if (target !== undefined && event.position > target) break;
    rest.push(event);
  }
  return rest;
}
