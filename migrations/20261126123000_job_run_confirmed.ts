import type { Knex } from "knex";

/**
 * Until now an event said that the agent of a run had confirmed it. The default means the same for the runs that there
 * are, and for those that a process of an earlier release may still give out; no row is written anew for it.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw("alter table public.job_run add column confirmed_at timestamptz default now()");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("alter table public.job_run drop column confirmed_at");
}
