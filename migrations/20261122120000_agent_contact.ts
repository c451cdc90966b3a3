import type { Knex } from "knex";

/**
 * Processes of agents, one of which may run on many machines, with what each said of itself last. Every
 * request of an agent writes here, which is too often for events.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table public.agent_contact (
      agent_id uuid not null,
      system_id text not null,
      ip text not null,
      platform text not null,
      architecture text not null,
      version text not null,
      executor text not null,
      features jsonb not null,
      connected_at timestamptz not null,
      primary key (agent_id, system_id)
    )
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop table public.agent_contact");
}
