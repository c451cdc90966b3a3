import type { Knex } from "knex";

/** Columns that refer to blobs by their digest. Whoever adds a table that does adds it here. */
const references = [
  { table: "container_manifest_blob", column: "sha256" },
  { table: "public.container_blob", column: "sha256" },
  { table: "public.container_upload_chunk", column: "sha256" },
  { table: "job_artifact", column: "sha256" },
  { table: "lfs_object", column: "oid" },
  { table: "package_file", column: "sha256" },
  { table: "public.proxy_content", column: "sha256" },
  { table: "release_file", column: "sha256" },
  { table: "uploaded_file", column: "sha256" },
] as const;

/** Of these blobs, those that anything refers to. */
export async function referredBlobs(
  db: Knex,
  digests: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const { table, column } of references) {
    const rows = await db(table)
      .whereRaw("?? = any(?)", [column, [...digests]])
      .distinct<Record<string, string>[]>(column);
    for (const row of rows) found.add(row[column] ?? "");
  }
  return found;
}

/** A page of all blobs that anything refers to, by digest, each once. */
export async function listReferredBlobs(
  db: Knex,
  after: string,
  countMax: number,
): Promise<readonly string[]> {
  const pages = await Promise.all(
    references.map(({ table, column }) =>
      db(table)
        .where(column, ">", after)
        .orderBy(column)
        .limit(countMax)
        .distinct<Record<string, string>[]>(column)
        .then((rows) => rows.map((row) => row[column] ?? "")),
    ),
  );
  return [...new Set(pages.flat())].sort().slice(0, countMax);
}
