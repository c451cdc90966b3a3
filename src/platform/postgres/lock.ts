import type { Knex } from "knex";

import { Limit } from "../limit.ts";

/** A lock takes a connection as long as it is waited for or held: the others of the pool are for what is done under it. */
const locks = { name: "database.locks", total: 3, whenFull: "wait", keepsTurn: true } as const;
const limits = new WeakMap<Knex, Limit>();

/** Waits for the lock of a key, which the transaction holds until its end: no other one has it meanwhile, in any process. */
export async function takeLock(tx: Knex.Transaction, key: string): Promise<void> {
  await tx.raw("select pg_advisory_xact_lock(hashtextextended(?, 0))", [key]);
}

/**
 * Runs a task while no other one of the same key runs, in any process. A task under a lock requests no other lock:
 * a few of them are requested at one time, and the rest wait for these.
 */
export function underLock<Result>(
  db: Knex,
  key: string,
  task: (tx: Knex.Transaction) => Promise<Result>,
): Promise<Result> {
  const limit = limits.get(db) ?? new Limit(locks);
  limits.set(db, limit);
  return limit.run(() =>
    db.transaction(async (tx) => {
      await takeLock(tx, key);
      return task(tx);
    }),
  );
}
