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
    await tx.raw("set local synchronous_commit to off");
    return run(tx);
  });
}
