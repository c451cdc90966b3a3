import type { Knex } from "knex";

/**
 * Up to here the tree over the log has counted every event whose type does not begin with `$`, with its data. From here
 * on it counts neither what lies in streams of the event store itself, nor the data of other applications. What was
 * signed before stays provable by counting that part as it was counted.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table public.counted_whole (
      "only" boolean primary key default true check ("only"),
      up_to bigint not null
    )
  `);
  await db.raw("insert into public.counted_whole (up_to) values (-1)");
  const { rows } = await db.raw<{ rows: { there: boolean }[] }>(
    "select to_regclass('read_model.log_tree_head') is not null as there",
  );
  if (rows[0]?.there !== true) return;
  await db.raw(`
    update public.counted_whole
    set up_to = coalesce((select max(position) from read_model.log_tree_head), -1)
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop table public.counted_whole");
}
