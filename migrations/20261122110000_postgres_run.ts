import type { Knex } from "knex";

/**
 * One row for the time since PostgreSQL last recovered from a crash. The table is unlogged on
 * purpose: crash recovery, a restored backup and the promotion of a standby empty it.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create unlogged table public.postgres_run (
      only_one boolean primary key default true check (only_one),
      id uuid not null,
      caught_up boolean not null default false
    )`);
}

export async function down(db: Knex): Promise<void> {
  await db.schema.withSchema("public").dropTable("postgres_run");
}
