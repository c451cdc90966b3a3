import type { Knex } from "knex";

/** Until now an event said that the agent of a run had confirmed it. */
export async function up(db: Knex): Promise<void> {
  await db.raw("alter table public.job_run add column confirmed_at timestamptz");
  await db.raw("update public.job_run set confirmed_at = contact_at");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("alter table public.job_run drop column confirmed_at");
}
