import type { Tx } from "./projection.ts";
import { type KeptTotal, keptTotal } from "./total.ts";

const isPublic = "is_private = false and deleted_at is null";

/** How many rows of a table everybody may see. */
export const publicTotalOf = (table: string): KeptTotal =>
  keptTotal(table, isPublic, ["is_private", "deleted_at"]);

/** Serves the lists of the rows that everybody may see, the oldest first. */
export async function createPublicIndex(tx: Tx, table: string): Promise<void> {
  await tx.raw(`create index ?? on ?? (created_at, id) where ${isPublic}`, [
    `${table}_public`,
    table,
  ]);
}
