import type { Knex } from "knex";

/** Holds up every read model while `run` runs: the row of their feed is locked. */
export async function whileLagging<Result>(db: Knex, run: () => Promise<Result>): Promise<Result> {
  return db.transaction(async (tx) => {
    await tx.raw("select from projection_feed for update");
    return run();
  });
}
