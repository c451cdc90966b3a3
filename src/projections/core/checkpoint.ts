import type { Knex } from "knex";
import { invariant } from "../../platform/invariant.ts";

/**
 * `live`: fed by the subscription. `behind`: its tables are catching up, or are being built again
 * for a new version. `failed`: stopped at an event it cannot apply.
 */
export type CheckpointState = "live" | "behind" | "failed";

/**
 * `answers`: what answers are read from; a command is answered when they show its events. `gathered`: what no
 * answer to a command needs, fed with many events together.
 */
export type FeedName = "answers" | "gathered";

/** A row of the view `projection_progress`: how far one read model is. */
export type CheckpointRow = Readonly<{
  name: string;
  /** Version of the projection that its tables were made by. */
  version: number;
  /** Everything up to here is in the tables; -1 when nothing is. */
  position: bigint;
  state: CheckpointState;
  feed: FeedName;
  /** Tables that exist for it, so that a version without one of them can still drop it. */
  tables: readonly string[];
  /** Why it stopped; null unless failed. */
  failure: string | null;
}>;

/** A row of the table `projection_checkpoint`. Those that the feed moves have no position of their own. */
export type StoredCheckpoint = Omit<CheckpointRow, "position"> &
  Readonly<{ position: bigint | null }>;

export const beforeEverything = -1n;

/** In the order in which their locks are taken. */
export const feeds: readonly FeedName[] = ["answers", "gathered"];

/**
 * Takes the lock under which the live read models of a feed are fed and others join them. The commit need not wait for the
 * disk: rows and positions are lost together in a crash of Postgres, and the events are applied again.
 *
 * @returns where the live read models are that have no position of their own
 */
export async function lockFeed(tx: Knex.Transaction, name: FeedName): Promise<bigint> {
  const { rows } = await tx.raw<{ rows: readonly Readonly<{ position: bigint }>[] }>(
    `select position from projection_feed, set_config('synchronous_commit', 'off', true)
     where name = ? for update of projection_feed`,
    [name],
  );
  const [feed] = rows;
  invariant(feed !== undefined, "the migrations insert a row for each feed");
  return feed.position;
}

/**
 * Takes the locks of checkpoints with a position of their own, in one order for all, so that no two transactions
 * wait for each other. The commit need not wait for the disk, as with the feed.
 */
export async function lockCheckpoints(
  tx: Knex.Transaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, StoredCheckpoint>> {
  const { rows } = await tx.raw<Readonly<{ rows: StoredCheckpoint[] }>>(
    `select name, version, position, state, feed, tables, failure
     from projection_checkpoint, set_config('synchronous_commit', 'off', true)
     where name = any(?) order by name for update of projection_checkpoint`,
    [[...names]],
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** Gives a checkpoint a position of its own, or moves it. Never backwards: delivery may repeat. */
export async function moveCheckpoint(
  tx: Knex.Transaction,
  name: string,
  position: bigint,
): Promise<void> {
  await tx.raw(
    `update projection_checkpoint set position = :position
     where name = :name and (position is null or position < :position)`,
    { name, position },
  );
}

/** Makes positions that come from the feed the checkpoints' own, before it moves without them; under its lock. */
export async function leaveFeed(tx: Knex.Transaction, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await tx.raw(
    `update projection_checkpoint set position = projection_feed.position from projection_feed
     where projection_feed.name = projection_checkpoint.feed
       and projection_checkpoint.name = any(?) and projection_checkpoint.position is null`,
    [[...names]],
  );
}

/** Takes away positions of their own: these checkpoints are where the feed is. */
export async function followFeed(tx: Knex.Transaction, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await tx<StoredCheckpoint>("projection_checkpoint")
    .whereIn("name", names)
    .update({ position: null });
}

export async function readCheckpoints(db: Knex): Promise<readonly CheckpointRow[]> {
  return db<CheckpointRow>("projection_progress").orderBy("name").select("*");
}
