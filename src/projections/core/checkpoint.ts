import type { Knex } from "knex";

/**
 * `live`: fed by the subscription. `behind`: its tables are catching up, or are being built again
 * for a new version. `failed`: stopped at an event it cannot apply.
 */
export type CheckpointState = "live" | "behind" | "failed";

export type CheckpointRow = Readonly<{
  name: string;
  /** Version of the projection that its tables were made by. */
  version: number;
  /** Everything up to here is in the tables; -1 when nothing is. */
  position: bigint;
  state: CheckpointState;
  /** Tables that exist for it, so that a version without one of them can still drop it. */
  tables: readonly string[];
  /** Why it stopped; null unless failed. */
  failure: string | null;
  updated_at: Date;
}>;

export const beforeEverything = -1n;

/**
 * Takes the row locks under which checkpoints move, in one order for everybody, so that no two wait
 * for each other. The commit need not wait for the disk: rows and checkpoint are lost together in a
 * crash of Postgres, and the events are applied again.
 */
export async function lockCheckpoints(
  tx: Knex.Transaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, CheckpointRow>> {
  const { rows } = await tx.raw<Readonly<{ rows: CheckpointRow[] }>>(
    `select name, version, position, state, tables, failure, updated_at
     from projection_checkpoint, set_config('synchronous_commit', 'off', true)
     where name = any(?) order by name for update of projection_checkpoint`,
    [[...names]],
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** Never backwards: delivery may repeat. */
export async function moveCheckpoints(
  tx: Knex.Transaction,
  names: readonly string[],
  position: bigint,
): Promise<void> {
  await tx<CheckpointRow>("projection_checkpoint")
    .whereIn("name", names)
    .andWhere("position", "<", position)
    .update({ position, updated_at: tx.fn.now() });
}

export async function readCheckpoints(db: Knex): Promise<readonly CheckpointRow[]> {
  return db<CheckpointRow>("projection_checkpoint").orderBy("name").select("*");
}
