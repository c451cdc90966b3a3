import type { Knex } from "knex";

import { notCurrent } from "../progress/current.ts";

/**
 * Columns that refer to blobs by their digest. A new table with such a column is added here, and the
 * projection that writes it below.
 */
const references = [
  // In the order in which a content that is pushed goes from one to the next: they are checked one after another.
  { table: "public.container_upload_chunk", column: "sha256" },
  { table: "public.container_blob", column: "sha256" },
  { table: "container_manifest_blob", column: "sha256" },
  { table: "job_artifact", column: "sha256" },
  { table: "job_log", column: "sha256" },
  { table: "lfs_object", column: "oid" },
  { table: "package_file", column: "sha256" },
  { table: "public.proxy_content", column: "sha256" },
  { table: "release_file", column: "sha256" },
  { table: "uploaded_file", column: "sha256" },
] as const;

/** The read models these tables belong to; `registry_repository` holds what a proxy may keep. */
const referring = [
  "container_manifest",
  "job_artifact",
  "job_log",
  "lfs_object",
  "package_version",
  "registry_repository",
  "release",
  "uploaded_file",
] as const;

/** Those that may not know of every reference up to a position: then no blob is known to be unused. */
export const missingReferences = (db: Knex, upTo: bigint): Promise<readonly string[]> =>
  notCurrent(db, referring, upTo);

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
