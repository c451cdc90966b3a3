import type { Knex } from "knex";

/**
 * A transaction that does not wait for the disk. A crash of Postgres may take the last of them back,
 * but never one and not a later one; so it fits whatever is done again from events or jobs that are
 * there.
 */
export function relaxed<Result>(
  db: Knex,
  run: (tx: Knex.Transaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await tx.raw("select set_config('synchronous_commit', 'off', true)");
    return run(tx);
  });
}

/** The same, one at a time for each of the names. */
export function relaxedAlone<Result>(
  db: Knex,
  names: readonly string[],
  run: (tx: Knex.Transaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await tx.raw(
      `select set_config('synchronous_commit', 'off', true),
         pg_advisory_xact_lock(hashtextextended(name, 0))
       from unnest(?::text[]) as name`,
      // Every transaction takes the locks in the same order, so that no deadlock arises.
      [[...new Set(names)].sort()],
    );
    return run(tx);
  });
}
