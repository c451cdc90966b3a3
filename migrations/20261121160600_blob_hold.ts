import type { Knex } from "knex";

/**
 * Blobs that somebody is about to refer to: not garbage although nothing refers to them yet; see
 * src/platform/blob/blobs.ts. Empty when nobody is uploading.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table public.blob_hold (
      id uuid primary key,
      digest text not null,
      held_until timestamptz not null
    )
  `);
  await db.raw("create index on public.blob_hold (digest)");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop table public.blob_hold");
}
