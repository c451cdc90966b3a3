import type { Knex } from "knex";

/** Content that an image has. */
export type ImageBlob = Readonly<{
  /** As it was pushed by. */
  digest: string;
  sha256: string;
  bytes: number;
}>;

export type Image = Readonly<{ packageId: string; registryId: string }>;

/** The image keeps what was pushed for so long before a manifest has to name it. */
const heldHours = 24;
const table = "public.container_blob";

/**
 * Says that an image has a content, from now on for a day, or for another day. The content has to be held until
 * this is done.
 */
export async function linkBlobs(
  db: Knex,
  { packageId, registryId }: Image,
  blobs: readonly ImageBlob[],
): Promise<void> {
  if (blobs.length > 0) await linking(db, { packageId, registryId }, blobs);
}

/** The statement that does so, of one blob at least. */
export function linking(
  db: Knex,
  { packageId, registryId }: Image,
  blobs: readonly ImageBlob[],
): Knex.QueryBuilder<object, unknown> {
  const held_until = db.raw("now() + make_interval(hours => ?)", [heldHours]);
  const of = { package_id: packageId, registry_id: registryId, held_until };
  const rows = blobs.map(({ digest, sha256, bytes }) => ({ ...of, digest, sha256, bytes }));
  return db(table).insert(rows).onConflict(["package_id", "digest"]).merge(["held_until"]);
}

/** Of these contents, those that were pushed to the images and are held still. */
export async function linkedBlobs(
  db: Knex,
  packageIds: readonly string[],
  digests: readonly string[],
): Promise<readonly ImageBlob[]> {
  const rows: readonly Readonly<{ digest: string; sha256: string; bytes: bigint }>[] = await db(
    table,
  )
    .whereRaw("package_id = any(?::uuid[])", [[...packageIds]])
    .whereRaw("digest = any(?)", [[...digests]])
    .andWhere("held_until", ">=", db.fn.now())
    .select("digest", "sha256", "bytes");
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
}

/** One that was pushed to any image of a repository of packages. */
export async function linkedInRegistry(
  db: Knex,
  registryId: string,
  digest: string,
): Promise<ImageBlob | undefined> {
  const row: Readonly<{ sha256: string; bytes: bigint }> | undefined = await db(table)
    .where({ registry_id: registryId, digest })
    .andWhere("held_until", ">=", db.fn.now())
    .first("sha256", "bytes");
  return row && { digest, sha256: row.sha256, bytes: Number(row.bytes) };
}

/** @returns whether the image had it by a push */
export async function unlinkBlob(db: Knex, packageId: string, digest: string): Promise<boolean> {
  const removed = await db(table).where({ package_id: packageId, digest }).delete();
  return removed > 0;
}

/** Whether anything was pushed to the image that is held still. */
export async function hasLinks(db: Knex, packageIds: readonly string[]): Promise<boolean> {
  const row = await db(table)
    .whereRaw("package_id = any(?::uuid[])", [[...packageIds]])
    .andWhere("held_until", ">=", db.fn.now())
    .first("digest");
  return row !== undefined;
}
