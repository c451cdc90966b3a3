import type { Knex } from "knex";

/**
 * The live read models of a feed are all at one place, which one row keeps: moving a row for each of them was half
 * of the work of an event. A checkpoint without a position of its own is at the place of its feed.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table public.projection_feed (
      name text primary key check (name in ('answers', 'gathered')),
      position bigint not null default -1,
      moved_at timestamptz not null default now()
    ) with (fillfactor = 50)
  `);
  await db.raw("insert into public.projection_feed (name) values ('answers'), ('gathered')");
  await db.raw(`
    alter table public.projection_checkpoint
      alter column position drop not null,
      drop column updated_at,
      add column feed text not null default 'answers' references public.projection_feed (name)
  `);
  await db.raw(`
    create view public.projection_progress as
      select name, version, coalesce(checkpoint.position, feed.position) as position, state, feed, tables, failure
      from public.projection_checkpoint as checkpoint
      join (select name as feed, position from public.projection_feed) as feed using (feed)
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    update public.projection_checkpoint as checkpoint set position = feed.position
    from public.projection_feed as feed where feed.name = checkpoint.feed and checkpoint.position is null
  `);
  await db.raw("drop view public.projection_progress");
  await db.raw(`
    alter table public.projection_checkpoint
      alter column position set not null,
      drop column feed,
      add column updated_at timestamptz not null default now()
  `);
  await db.raw("drop table public.projection_feed");
}
