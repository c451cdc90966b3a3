import type { Recorded } from "../../events/core/event.ts";
import type { EventStore, ReadAllOptions } from "../../platform/event-store/event-store.ts";
import { announceReread } from "./announce.ts";
import { type CheckpointRow, lockFeed, readAfter, type StoredCheckpoint } from "./checkpoint.ts";
import type { FeedDeps } from "./feed.ts";
import { inSchema } from "./install.ts";
import { applyAfter, type Projection, type Tx } from "./projection.ts";
import { wholeLog } from "./whole-log.ts";

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
 * Makes a projection live: under the lock of the feed, so that the subscription stands still, applies the rest up to
 * where the feed is. One that is ahead of it waits there for the feed.
 *
 * @returns false when the rest is too long to let the others wait; nothing has changed then
 */
export async function join(deps: FeedDeps, projection: Projection, built: Built): Promise<boolean> {
  const { name, version } = projection;
  return deps.db.transaction(async (tx) => {
    const fed = await lockFeed(tx);
    const row = await tx<StoredCheckpoint>("projection_checkpoint")
      .where({ name })
      .forUpdate()
      .first();
    if (row === undefined) return false;
    const options = { ...(await wholeLog(tx)), countMax: restEventsMax + 1 };
    const rest = await readRest(deps.store, { after: built.position, upTo: fed }, options);
    if (rest.length > restEventsMax) return false;
    await inSchema(tx, built.schema, () =>
      applyAfter(tx, projection, built.position, rest, deps.context),
    );
    await built.finish?.(tx, { ...row, position: row.position ?? fed });
    const position = built.position > fed ? built.position : null;
    const tables = projection.tables.map((table) => table.name);
    await tx("projection_checkpoint")
      .where({ name })
      .update({ version, tables, position, state: "live", failure: null });
    await announceReread(tx);
    return true;
  });
}

/** Up to where the feed is; one more than allowed at most. */
async function readRest(
  store: EventStore,
  { after, upTo }: Readonly<{ after: bigint; upTo: bigint }>,
  options: ReadAllOptions,
): Promise<readonly Recorded[]> {
  const rest: Recorded[] = [];
  if (after >= upTo) return rest;
  for await (const event of store.readAll({ ...options, ...readAfter(after) })) {
    if (event.position > upTo) break;
    rest.push(event);
  }
  return rest;
}
