import type { Knex } from "knex";

/**
 * Keeps a table that says how many rows another one has, by some of its columns: by a trigger for each statement, so
 * that a list need not count its rows. Arguments: the table of totals, which lies in the schema of the rows; its key, as
 * a list of columns; the condition for a row to count; and what it counts for.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create function public.count_rows() returns trigger language plpgsql as $$
    declare
      totals text := format('%I.%I', tg_table_schema, tg_argv[0]);
      columns text := tg_argv[1];
      added text := format('select %s, %s as by from new_rows where %s', columns, tg_argv[3], tg_argv[2]);
      taken text := format('select %s, -%s as by from old_rows where %s', columns, tg_argv[3], tg_argv[2]);
      changed text := case tg_op
        when 'INSERT' then added when 'DELETE' then taken else added || ' union all ' || taken end;
    begin
      execute format(
        'insert into %1$s as known (%2$s, total)
         select %2$s, sum(by) from (%3$s) as changed group by %2$s having sum(by) <> 0
         on conflict (%2$s) do update set total = known.total + excluded.total',
        totals, columns, changed);
      if tg_op <> 'INSERT' then
        execute format(
          'delete from %1$s where total = 0 and (%2$s) in (select %2$s from (%3$s) as changed)',
          totals, columns, changed);
      end if;
      return null;
    end
    $$
  `);
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop function public.count_rows() cascade");
}
