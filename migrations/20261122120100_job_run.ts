import type { Knex } from "knex";

/**
 * Runs of jobs by agents, beside what the events say of them: when the agent was last heard of, and
 * the log as far as it came. Logs are no events: they are large, and end as a blob.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table public.job_run (
      job_id uuid not null,
      attempt integer not null,
      project_id uuid not null,
      agent_id uuid not null,
      token_hash text not null,
      contact_at timestamptz not null,
      final_at timestamptz,
      watched_at timestamptz,
      received bigint not null default 0,
      stored bigint not null default 0,
      tail bytea not null default '',
      primary key (job_id, attempt)
    )
  `);
  await db.raw("create index on public.job_run (project_id)");
  await db.raw(`
    create table public.job_log_chunk (
      job_id uuid not null,
      attempt integer not null,
      first_byte bigint not null,
      data bytea not null,
      primary key (job_id, attempt, first_byte),
      foreign key (job_id, attempt) references public.job_run on delete cascade
    )
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop table public.job_log_chunk");
  await db.raw("drop table public.job_run");
}
