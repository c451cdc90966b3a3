import type { Knex } from "knex";
import type { Recorded } from "../../../src/events/core/event.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { beforeEverything, feeds, lockFeed } from "../../../src/projections/core/checkpoint.ts";
import { feeder } from "../../../src/projections/core/feed-together.ts";
import { install, uninstall } from "../../../src/projections/core/install.ts";
import {
  feedOf,
  type Projection,
  type ProjectionContext,
} from "../../../src/projections/core/projection.ts";

/** Reads sealed text as what it was sealed from in the examples: itself. */
export const context: ProjectionContext = { open: (sealed) => Promise.resolve(sealed) };

/** Changes checkpoints of a service that runs, under the locks that it takes for that, in their order. */
export async function changeCheckpoints(
  db: Knex,
  change: (checkpoints: Knex.QueryBuilder) => Knex.QueryBuilder,
): Promise<void> {
  await db.transaction(async (tx) => {
    for (const feed of feeds) await lockFeed(tx, feed);
    await change(tx("projection_checkpoint"));
  });
}

/** Empty tables and a checkpoint before everything, whatever there was. */
export async function reset(db: Knex, projection: Projection): Promise<void> {
  await uninstall(db, projection);
  await db.transaction((tx) => install(tx, projection, "live"));
}

/** Delivery from the start again, on top of the rows there are. */
export async function rewind(db: Knex, projection: Projection): Promise<void> {
  await db("projection_checkpoint")
    .where({ name: projection.name })
    .update({ position: beforeEverything });
}

/** All rows of its tables, in an order that does not depend on how they came to be. */
export async function rowsOf(db: Knex, projection: Projection): Promise<Record<string, unknown[]>> {
  const tables: Record<string, unknown[]> = {};
  for (const table of projection.tables) {
    const { rows } = await db.raw<{ rows: { row: unknown }[] }>(
      'select to_jsonb(t) as row from ?? t order by to_jsonb(t)::text collate "C"',
      [table],
    );
    tables[table] = rows.map(({ row }) => row);
  }
  return tables;
}

/** For feeds that read nothing from the log themselves. */
export const noEventStore = new Proxy({} as EventStore, {
  get: () => {
    throw new Error("The log is not read here");
  },
});

/**
 * Applies batches as the leader of this projection alone feeds them.
 *
 * @returns how many of those that it handles took one round trip
 */
export async function feedTogether(
  db: Knex,
  projection: Projection,
  batches: readonly (readonly Recorded[])[],
): Promise<number> {
  const nothing = (): void => undefined;
  const log = { info: nothing, warn: nothing, error: nothing };
  const deps = { db, store: noEventStore, projections: [projection], context, log };
  const feed = feeder(deps, feedOf(projection));
  await db("projection_feed").update({ position: beforeEverything });
  // What other releases have built leaves a feed, and has a position of its own then.
  const others = db("projection_checkpoint").whereNot({ name: projection.name });
  const moved = await others
    .clone()
    .where({ feed: feedOf(projection) })
    .pluck("name");
  const isAnswers = feedOf(projection) === "answers";
  await others.whereIn("name", moved).update({ feed: isAnswers ? "gathered" : "answers" });
  let [together, statements] = [0, 0];
  const count = (): void => {
    statements += 1;
  };
  let after = beforeEverything;
  for (const events of [[], ...batches]) {
    const upTo = events.at(-1)?.position ?? after;
    statements = 0;
    db.on("query", count);
    await feed({ after, upTo, events });
    db.off("query", count);
    // Those that go together are not sent by Knex.
    if (statements === 0 && events.some(({ type }) => projection.types.has(type))) together += 1;
    after = upTo;
  }
  await db("projection_checkpoint")
    .whereIn("name", moved)
    .update({ feed: feedOf(projection) });
  return together;
}
