import type { Knex } from "knex";

/** What requests of a user have brought into projects of others and nobody merged. */
export const bytesBroughtBy = (db: Knex, authorId: string): Promise<number> =>
  sumOf(db, { author_id: authorId });

/** What requests of others than members have brought into a project, as far as it counts for them. */
export const bytesBroughtInto = (db: Knex, projectId: string): Promise<number> =>
  sumOf(db, { project_id: projectId });

async function sumOf(db: Knex, of: Readonly<Record<string, string>>): Promise<number> {
  const [row] = await db("merge_request")
    .where(of)
    .where("brought_bytes", ">", 0)
    .whereNot("status", "MERGED")
    .sum<{ bytes: string | null }[]>({ bytes: "brought_bytes" });
  return Number(row?.bytes ?? 0);
}
