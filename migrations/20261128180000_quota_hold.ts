import type { Knex } from "knex";

/** Room that is taken from quotas for what is on its way; see src/platform/blob/room.ts. Empty while nothing comes. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table public.quota_hold (
      number bigint generated always as identity primary key,
      quota text not null,
      bytes bigint not null,
      is_granted boolean not null,
      held_until timestamptz not null
    )
  `);
  await db.raw("create index on public.quota_hold (quota)");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop table public.quota_hold");
}
