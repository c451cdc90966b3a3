import type { Knex } from "knex";
import { counted } from "./total.ts";

/** A part of a list, and how many rows the whole has. */
export type Slice<Row> = Readonly<{ rows: readonly Row[]; total: number }>;

export type Part = Readonly<{ limit: number; offset: number }>;

type Which<Row> = Readonly<{
  table: string;
  /** Values, or what narrows the query to the rows meant. */
  where: Partial<Row> | ((query: Knex.QueryBuilder) => void);
}>;

/** A part of the rows meant, oldest first, and how many there are in all. */
export function oldestFirst<Row>(db: Knex, which: Which<Row> & Part): Promise<Slice<Row>> {
  return byTime(db, which, "asc");
}

/** The same, newest first. */
export function newestFirst<Row>(db: Knex, which: Which<Row> & Part): Promise<Slice<Row>> {
  return byTime(db, which, "desc");
}

function byTime<Row>(
  db: Knex,
  { table, where, ...part }: Which<Row> & Part,
  order: "asc" | "desc",
): Promise<Slice<Row>> {
  const columns = ["created_at", "id"].map((column) => ({ column, order }));
  return partOf(
    () => db(table).where(where),
    (rows) => rows.orderBy(columns),
    part,
  );
}

/**
 * A part of the rows of any query, and how many it has in all.
 *
 * @param select puts the rows in order and selects their columns
 * @param count of all rows, when it is not to read every one of them
 */
export async function partOf<Row>(
  all: () => Knex.QueryBuilder,
  select: (rows: Knex.QueryBuilder) => Knex.QueryBuilder,
  { limit, offset }: Part,
  count: (all: Knex.QueryBuilder) => Promise<number> = counted,
): Promise<Slice<Row>> {
  const part: PromiseLike<readonly Row[]> = select(all()).limit(limit).offset(offset);
  const [rows, total] = await Promise.all([part, count(all())]);
  return { rows, total };
}
