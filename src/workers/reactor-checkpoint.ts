import type { Knex } from "knex";

import { relaxed } from "./relaxed.ts";

type CheckpointRow = Readonly<{ name: string; position: bigint; updated_at: Date }>;

const beforeEverything = -1n;

/** Where each reactor goes on; one that never ran starts at the beginning of the log. */
export async function readReactorPositions(
  db: Knex,
  names: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const rows = await db<CheckpointRow>("reactor_checkpoint").whereIn("name", names);
  const stored = new Map(rows.map(({ name, position }) => [name, position]));
  return new Map(names.map((name) => [name, stored.get(name) ?? beforeEverything]));
}

/** Never backwards: a leader that was replaced may still finish what it had begun. */
export async function saveReactorPosition(db: Knex, name: string, position: bigint): Promise<void> {
  await relaxed(db, async (tx) => {
    await tx("reactor_checkpoint")
      .insert({ name, position })
      .onConflict("name")
      .merge({ position, updated_at: tx.fn.now() })
      .whereRaw("reactor_checkpoint.position < excluded.position");
  });
}
