import type { Knex } from "knex";

/**
 * Which read models follow a feed, as one value in the row that each batch moves: to be certain of it, a batch need not
 * read all checkpoints behind the lock of that row. Whoever changes a checkpoint keeps it right by a trigger.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw("alter table public.projection_feed add column followers text");
  await db.raw(`
    create view public.projection_follower as
      select feed.name as feed, encode(sha256(convert_to(coalesce(string_agg(
        concat_ws(' ', checkpoint.name, checkpoint.version, checkpoint.state), ', '
        order by checkpoint.name collate "C"), ''), 'UTF8')), 'hex') as followers
      from public.projection_feed as feed
      left join public.projection_checkpoint as checkpoint
        on checkpoint.feed = feed.name and checkpoint.position is null
      group by feed.name
  `);
  // Only the row of a feed whose followers change is locked, which who changes them has locked before.
  await db.raw(`
    create function public.note_followers() returns trigger language plpgsql as $$
    begin
      perform from public.projection_feed as feed
        join public.projection_follower as present on present.feed = feed.name
        where feed.followers is distinct from present.followers for update of feed;
      if found then
        update public.projection_feed as feed set followers = present.followers
          from public.projection_follower as present
          where present.feed = feed.name and feed.followers is distinct from present.followers;
      end if;
      return null;
    end
    $$
  `);
  await db.raw(`
    create trigger note_followers after insert or update or delete on public.projection_checkpoint
    for each statement execute function public.note_followers()
  `);
  await db.raw(`
    update public.projection_feed as feed set followers = present.followers
    from public.projection_follower as present where present.feed = feed.name
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop trigger note_followers on public.projection_checkpoint");
  await db.raw("drop function public.note_followers()");
  await db.raw("drop view public.projection_follower");
  await db.raw("alter table public.projection_feed drop column followers");
}
