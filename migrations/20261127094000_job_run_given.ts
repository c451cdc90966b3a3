import type { Knex } from "knex";

/** Null for the runs that there are, and for those that a process of an earlier release notes: others are later. */
export async function up(db: Knex): Promise<void> {
  await db.raw("alter table public.job_run add column given_position bigint");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("alter table public.job_run drop column given_position");
}
