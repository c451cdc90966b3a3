import type { Knex } from "knex";

/** How far beyond the requested page a search is counted; see docs/api/README.md. */
export const countedBeyondMax = 500;

/** How many rows there are, counted up to a limit beyond the page. */
export async function countedNear(
  db: Knex,
  query: Knex.QueryBuilder,
  { limit, offset }: Readonly<{ limit: number; offset: number }>,
): Promise<number> {
  const near = query.select(db.raw("1")).limit(offset + limit + countedBeyondMax);
  return counted(db.from(near.as("near")));
}

/** How many rows there are, every one of them read. */
export async function counted(query: Knex.QueryBuilder): Promise<number> {
  const row: { total?: bigint } | undefined = await query.count({ total: "*" }).first();
  return Number(row?.total ?? 0n);
}
