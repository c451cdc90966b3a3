import type { Knex } from "knex";

/**
 * The live read models are all at one place, which one row keeps: moving a row for each of them was half of the
 * work of an event. A checkpoint without a position of its own is at the place of the feed.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table public.projection_feed (
      id boolean primary key default true check (id),
      position bigint not null,
      moved_at timestamptz not null default now()
    ) with (fillfactor = 50)
  `);
  await db.raw("insert into public.projection_feed (position) values (-1)");
  await db.raw("alter table public.projection_checkpoint alter column position drop not null");
  await db.raw("alter table public.projection_checkpoint drop column updated_at");
  await db.raw(`
    create view public.projection_progress as
      select name, version, coalesce(checkpoint.position, feed.position) as position, state, tables, failure
      from public.projection_checkpoint as checkpoint cross join public.projection_feed as feed
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    update public.projection_checkpoint
    set position = (select position from public.projection_feed) where position is null
  `);
  await db.raw("drop view public.projection_progress");
  await db.raw("drop table public.projection_feed");
  await db.raw("alter table public.projection_checkpoint alter column position set not null");
  await db.raw(
    "alter table public.projection_checkpoint add column updated_at timestamptz not null default now()",
  );
}
