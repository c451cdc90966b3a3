import type { Knex } from "knex";

import { Limiter } from "../limiter.ts";

/** A lock takes a connection as long as it is waited for or held: the others of the pool are for what is done under it. */
const locksAtOnce = 3;
const limiters = new WeakMap<Knex, Limiter>();

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
  const limiter = limiters.get(db) ?? new Limiter(locksAtOnce);
  limiters.set(db, limiter);
  return limiter.run(() =>
    db.transaction(async (tx) => {
      await takeLock(tx, key);
      return task(tx);
    }),
  );
}
