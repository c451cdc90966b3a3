import type { Knex } from "knex";

/** A canceled run whose agent can stop gracefully goes on for a while: its after_script runs. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table public.job_run
      add column cancels_gracefully boolean not null default false,
      add column canceling_until timestamptz,
      add column over_at timestamptz
  `);
  await db.raw(`
    create index job_run_canceling on public.job_run (token_hash)
    where canceling_until is not null and over_at is null
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    alter table public.job_run
      drop column cancels_gracefully, drop column canceling_until, drop column over_at
  `);
}
