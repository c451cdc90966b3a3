import type { Knex } from "knex";

/**
 * Where there are reactors already, those that look at pushes begin at the end: requests that were merged by hand long
 * ago would send webhooks and close issues today.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    insert into public.reactor_checkpoint (name, position)
    select begun.name, max(reached.position)
    from public.reactor_checkpoint reached,
      unnest(array['merge-request-pushed', 'merge-request-retarget']) as begun (name)
    where reached.position < 9223372036854775807
    group by begun.name
    on conflict do nothing
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    delete from public.reactor_checkpoint
    where name in ('merge-request-pushed', 'merge-request-retarget')
  `);
}
