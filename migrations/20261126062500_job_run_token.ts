import type { Knex } from "knex";

/** Runs are looked up by their tokens while read models do not show yet to whom they were given. */
export async function up(db: Knex): Promise<void> {
  await db.raw("create index job_run_token on public.job_run (token_hash)");
  await db.raw("drop index public.job_run_canceling");
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    create index job_run_canceling on public.job_run (token_hash)
    where canceling_until is not null and over_at is null
  `);
  await db.raw("drop index public.job_run_token");
}
