import type { Knex } from "knex";

/** From then on nothing is added to the log of a run: it is copied to its blob. */
export async function up(db: Knex): Promise<void> {
  await db.raw("alter table public.job_run add column sealed_at timestamptz");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("alter table public.job_run drop column sealed_at");
}
