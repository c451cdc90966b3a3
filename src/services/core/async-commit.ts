import type { Knex } from "knex";

/**
 * A transaction that does not wait for the disk. A crash of PostgreSQL may lose the last of them,
 * but never one without all later ones; so it is for work that is repeated from stored events or
 * jobs.
 */
export function asyncCommit<Result>(
  db: Knex,
  run: (tx: Knex.Transaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await tx.raw("select set_config('synchronous_commit', 'off', true)");
    return run(tx);
  });
}

/** As `asyncCommit`, under an advisory lock for each of the names. */
export function asyncCommitUnderLocks<Result>(
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
