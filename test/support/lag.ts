import type { Knex } from "knex";

/** Holds up every read model while `run` runs: the rows of their checkpoints are locked. */
export async function whileLagging<Result>(db: Knex, run: () => Promise<Result>): Promise<Result> {
  return db.transaction(async (tx) => {
    await tx.raw("select from projection_checkpoint order by name for update");
    return run();
  });
}
