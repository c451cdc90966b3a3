import type { Knex } from "knex";

import { type Count, defineTable } from "../core/table.ts";

/** Of a table whose rows may be private and are kept for a while when they are deleted. */
export const publicIndex = "(created_at, id) where is_private = false and deleted_at is null";

/** How many rows of a table are public, and how many private, without those that were deleted. */
export const countByVisibility = (table: string): Count => ({
  table: defineTable({
    name: `${table}_total`,
    columns: { is_private: "boolean", total: "bigint" },
    key: ["is_private"],
  }),
  where: "deleted_at is null",
});

/** How many rows of a table everybody may see: counting them would take longer the more there are. */
export async function countPublic(db: Knex, table: string): Promise<number> {
  const row = await db<{ is_private: boolean; total: bigint }>(`${table}_total`)
    .where({ is_private: false })
    .first();
  return Number(row?.total ?? 0n);
}
