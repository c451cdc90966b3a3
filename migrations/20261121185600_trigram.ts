import type { Knex } from "knex";

/** Indexes that find a part of a title or name; comes with PostgreSQL, and its owner may add it. */
export async function up(db: Knex): Promise<void> {
  await db.raw("create extension if not exists pg_trgm with schema public");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop extension pg_trgm");
}
