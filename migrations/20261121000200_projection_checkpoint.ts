import type { Knex } from "knex";

/** One row a projection; see src/projections/checkpoint.ts. Read models live in a schema of their own. */
export async function up(db: Knex): Promise<void> {
  await db.raw("create schema read_model");
  // Updated with every batch: the free space keeps the new row version in the same page, unindexed.
  await db.raw(`
    create table public.projection_checkpoint (
      name text primary key,
      version integer not null,
      position bigint not null default -1,
      state text not null check (state in ('live', 'behind', 'failed')),
      tables text[] not null,
      failure text,
      updated_at timestamptz not null default now()
    ) with (fillfactor = 50)
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop table public.projection_checkpoint");
  await db.raw("drop schema read_model cascade");
}
