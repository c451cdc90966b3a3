import type { Knex } from "knex";

type CheckpointRow = Readonly<{ name: string; position: bigint }>;

/** A restore or an import of events was begun here and has not ended. */
export class LogNotWhole extends Error {
  override readonly name = "LogNotWhole";
}

/** No log is so long: the log is being put into this instance, and is not whole yet. */
export const beyondAnyLog = 2n ** 63n - 1n;

/**
 * Before the first event is put into an empty instance: reactors that started now would do again what was done
 * where the log comes from. Stays until `putReactors`, whatever happens to this process.
 */
export async function holdReactors(db: Knex, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const rows = names.map((name) => ({ name, position: beyondAnyLog }));
  await db<CheckpointRow>("reactor_checkpoint").insert(rows).onConflict("name").merge();
}

/** Whether `holdReactors` was called and `putReactors` was not since. */
export async function areReactorsHeld(db: Knex): Promise<boolean> {
  const row = await db<CheckpointRow>("reactor_checkpoint")
    .where({ position: beyondAnyLog })
    .first("name");
  return row !== undefined;
}
