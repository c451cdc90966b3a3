import type { Knex } from "knex";
import type { Recorded } from "../../../src/events/core/event.ts";
import { beforeEverything, lockFeed } from "../../../src/projections/core/checkpoint.ts";
import { dropTables, install, liveSchema } from "../../../src/projections/core/install.ts";
import {
  applyAfter,
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
    await lockFeed(tx);
    await change(tx("projection_checkpoint"));
  });
}

/** Applies a batch and moves the checkpoint of the projection, as it is done while it catches up. */
export async function project(
  db: Knex,
  projection: Projection,
  batch: readonly Recorded[],
  given: ProjectionContext = context,
): Promise<void> {
  const { name } = projection;
  await db.transaction(async (tx) => {
    const row = await tx("projection_checkpoint").where({ name }).forUpdate().first();
    const after: bigint = row.position;
    await applyAfter(tx, projection, after, batch, given);
    const reached = batch.at(-1)?.position ?? after;
    const position = reached > after ? reached : after;
    await tx("projection_checkpoint").where({ name }).update({ position });
  });
}

/** Drops what a projection owns: its tables and its checkpoint. */
export async function uninstall(db: Knex, { name, tables }: Projection): Promise<void> {
  await db.transaction(async (tx) => {
    await lockFeed(tx);
    await tx("projection_checkpoint").where({ name }).delete();
    await dropTables(
      tx,
      liveSchema,
      tables.map((table) => table.name),
    );
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
  for (const { name: table } of projection.tables) {
    const { rows } = await db.raw<{ rows: { row: unknown }[] }>(
      'select to_jsonb(t) as row from ?? t order by to_jsonb(t)::text collate "C"',
      [table],
    );
    tables[table] = rows.map(({ row }) => row);
  }
  return tables;
}

/** Applies batches one after another, each in a transaction. */
export async function applyEach(
  db: Knex,
  projection: Projection,
  batches: readonly (readonly Recorded[])[],
): Promise<void> {
  for (const batch of batches) await project(db, projection, batch, context);
}
