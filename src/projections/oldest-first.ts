import type { Knex } from "knex";

import { counted } from "./total.ts";
import type { Slice } from "./user.ts";

export type Part = Readonly<{ limit: number; offset: number }>;

/** A part of the rows with these values, oldest first, and how many there are in all. */
export async function oldestFirst<Row>(
  db: Knex,
  { table, where, limit, offset }: Readonly<{ table: string; where: Partial<Row> }> & Part,
): Promise<Slice<Row>> {
  const all = () => db(table).where(where);
  const part: PromiseLike<readonly Row[]> = all()
    .orderBy(["created_at", "id"])
    .limit(limit)
    .offset(offset);
  const [rows, total] = await Promise.all([part, counted(all())]);
  return { rows, total };
}
