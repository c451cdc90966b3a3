import type { Knex } from "knex";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";

/** Uses of one thing are recorded at most this often. */
const everyMs = 60_000;
const thingsMax = 10_000;

/** A table beside the read models, and the column with the id of the used thing. */
export type UseTable = Readonly<{ table: string; column: string }>;

/** Records the use of a thing, once a minute at most. The caller does not wait for it. */
export type RecordUse = (id: string) => void;

export type UseRecorderDeps = Readonly<{ db: Knex; log: Pick<Logger, "debug">; now: () => Date }>;

export function useRecorder(
  { table, column }: UseTable,
  { db, log, now }: UseRecorderDeps,
): RecordUse {
  const noted = new LRUCache<string, number>({ max: thingsMax });
  return (id) => {
    const at = now();
    const last = noted.get(id);
    if (last !== undefined && at.getTime() - last < everyMs) return;
    noted.set(id, at.getTime());
    db(`public.${table}`)
      .insert({ [column]: id, used_at: at })
      .onConflict(column)
      .merge({ used_at: db.raw("greatest(??, excluded.used_at)", [`${table}.used_at`]) })
      .catch((error: unknown) => log.debug({ err: error, table }, "a use was not noted"));
  };
}

/** When each of these was last used; those never used are left out. */
export async function usesOf(
  db: Knex,
  { table, column }: UseTable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const rows: readonly Readonly<{ id: string; used_at: Date }>[] = await db(`public.${table}`)
    .whereIn(column, [...ids])
    .select({ id: column }, "used_at");
  return new Map(rows.map(({ id, used_at }) => [id, used_at]));
}
