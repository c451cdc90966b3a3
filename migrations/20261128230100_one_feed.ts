import type { Knex } from "knex";

import { up as noteFollowers } from "./20261126023000_projection_followers.ts";

/** All live read models follow one feed: what followed the other one is built again. */
export async function up(db: Knex): Promise<void> {
  await db.raw("drop trigger note_followers on public.projection_checkpoint");
  await db.raw("drop function public.note_followers()");
  await db.raw("drop view public.projection_follower");
  await db.raw("drop view public.projection_progress");
  await db.raw(`
    update public.projection_checkpoint
    set state = 'behind', version = 0, position = -1 where feed = 'gathered'
  `);
  await db.raw("alter table public.projection_checkpoint drop column feed");
  await db.raw("delete from public.projection_feed where name = 'gathered'");
  await db.raw("alter table public.projection_feed drop column followers");
  await db.raw(`
    create view public.projection_progress as
      select checkpoint.name, version, coalesce(checkpoint.position, feed.position) as position, state, tables, failure
      from public.projection_checkpoint as checkpoint cross join public.projection_feed as feed
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop view public.projection_progress");
  await db.raw("insert into public.projection_feed (name) values ('gathered')");
  await db.raw(`
    alter table public.projection_checkpoint
      add column feed text not null default 'answers' references public.projection_feed (name)
  `);
  await db.raw(`
    create view public.projection_progress as
      select name, version, coalesce(checkpoint.position, feed.position) as position, state, feed, tables, failure
      from public.projection_checkpoint as checkpoint
      join (select name as feed, position from public.projection_feed) as feed using (feed)
  `);
  await noteFollowers(db);
}
