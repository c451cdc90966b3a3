import type { Knex } from "knex";

/**
 * What pushes under way asked git to change, written before git is told; see
 * src/workers/ref-recorder.ts. Empty when nobody is pushing.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw("create sequence public.push_intent_done");
  await db.raw(`
    create table public.push_intent (
      push_id uuid not null,
      ref text not null,
      project_id uuid not null,
      before text,
      after text,
      metadata jsonb not null,
      created_at timestamptz not null default now(),
      done_order bigint,
      ended boolean not null default false,
      primary key (push_id, ref)
    )
  `);
  await db.raw("create index on public.push_intent (project_id)");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop table public.push_intent");
  await db.raw("drop sequence public.push_intent_done");
}
