import type { Knex } from "knex";

import { invariant } from "../../platform/invariant.ts";

/**
 * `live`: fed by the subscription. `behind`: its tables catch up with the live ones, or are built again for a new
 * version. `failed`: stopped at an event that it cannot apply.
 */
export type CheckpointState = "live" | "behind" | "failed";

/** A row of the view `projection_progress`: how far one read model is. */
export type CheckpointRow = Readonly<{
  name: string;
  /** Version of the projection that its tables were made by. */
  version: number;
  /** Everything up to here is in the tables; -1 when nothing is. */
  position: bigint;
  state: CheckpointState;
  /** Tables that exist for it, so that a version without one of them can still drop it. */
  tables: readonly string[];
  /** Why it stopped; null unless failed. */
  failure: string | null;
}>;

/** A row of the table `projection_checkpoint`. The live ones that are where the feed is have no position of their own. */
export type StoredCheckpoint = Omit<CheckpointRow, "position"> &
  Readonly<{ position: bigint | null }>;

export const beforeEverything = -1n;
/** Of a read model whose tables have to be built before they are read. */
export const unbuiltVersion = 0;

/** What to read from the log after a position. */
export const readAfter = (position: bigint): Readonly<{ after?: bigint }> =>
  position === beforeEverything ? {} : { after: position };

/**
 * Takes the lock under which the live read models are fed and others join them. The commit need not wait for the
 * disk: rows and positions are lost together in a crash of Postgres, and the events are applied again.
 *
 * @returns the position of the feed
 */
export async function lockFeed(tx: Knex.Transaction): Promise<bigint> {
  const { rows } = await tx.raw<{ rows: readonly Readonly<{ position: bigint }>[] }>(
    `select position from projection_feed, set_config('synchronous_commit', 'off', true)
     for update of projection_feed`,
  );
  const [feed] = rows;
  invariant(feed !== undefined, "the migrations insert the row of the feed");
  return feed.position;
}

/** Stops read models where they are: the feed does not move them on. */
export async function stopWhere(
  db: Knex,
  which: Readonly<{ name?: string }>,
  failure: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const position = tx.raw("coalesce(position, ?)", [String(await lockFeed(tx))]);
    await tx("projection_checkpoint").where(which).update({ state: "failed", failure, position });
  });
}

export async function readCheckpoints(db: Knex): Promise<readonly CheckpointRow[]> {
  return db<CheckpointRow>("projection_progress").orderBy("name").select("*");
}
