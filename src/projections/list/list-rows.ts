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
  return partOf(db, which, "asc");
}

/** The same, newest first. */
export function newestFirst<Row>(db: Knex, which: Which<Row> & Part): Promise<Slice<Row>> {
  return partOf(db, which, "desc");
}

async function partOf<Row>(
  db: Knex,
  { table, where, limit, offset }: Which<Row> & Part,
  order: "asc" | "desc",
): Promise<Slice<Row>> {
  const all = () => db(table).where(where);
  const part: PromiseLike<readonly Row[]> = all()
    .orderBy(["created_at", "id"].map((column) => ({ column, order })))
    .limit(limit)
    .offset(offset);
  const [rows, total] = await Promise.all([part, counted(all())]);
  return { rows, total };
}
