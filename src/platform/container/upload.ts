import { randomUUID } from "node:crypto";
import type { Knex } from "knex";

import { Refusal } from "../refusal.ts";
import { type Image, type ImageBlob, linking } from "./link.ts";

/** An upload that is under way. Its bytes are stored chunk by chunk; `bytes` is never beyond what is durable. */
export type Upload = Readonly<{
  id: string;
  registryId: string;
  packageId: string;
  userId: string;
  bytes: number;
  chunks: number;
}>;

export type Chunk = Readonly<{ sha256: string; bytes: number }>;

/** From the last chunk. */
const lifeHours = 24;
const openMaxPerUser = 200;
/** A client that sends a layer in pieces of a few bytes is mistaken. */
export const chunksMax = 10_000;

const uploads = "public.container_upload";
const chunks = "public.container_upload_chunk";

type Row = Readonly<{
  id: string;
  registry_id: string;
  package_id: string;
  user_id: string;
  bytes: bigint;
  chunks: number;
}>;

const uploadOf = (row: Row): Upload => ({
  id: row.id,
  registryId: row.registry_id,
  packageId: row.package_id,
  userId: row.user_id,
  bytes: Number(row.bytes),
  chunks: row.chunks,
});

/** @throws Refusal 429 `container.too_many_uploads` */
export async function beginUpload(
  db: Knex,
  { packageId, registryId }: Image,
  userId: string,
): Promise<Upload> {
  const id = randomUUID();
  const begun = await db.raw<Readonly<{ rowCount: number }>>(
    `insert into ${uploads} (id, package_id, registry_id, user_id, bytes, chunks, expires_at)
     select :id, :packageId, :registryId, :userId, 0, 0, now() + make_interval(hours => :hours)
     where (
       select count(*) from (select from ${uploads} where user_id = :userId limit :max) as open
     ) < :max`,
    { id, packageId, registryId, userId, hours: lifeHours, max: openMaxPerUser },
  );
  if (begun.rowCount === 0) {
    const message = `You have ${openMaxPerUser} uploads under way. Finish or cancel some.`;
    const details = { retryAfterSeconds: 60 };
    throw new Refusal("too_many", "container.too_many_uploads", message, details);
  }
  return { id, registryId, packageId, userId, bytes: 0, chunks: 0 };
}

/** One of this image and this user. */
export async function findUpload(
  db: Knex,
  of: Readonly<{ id: string; packageId: string; userId: string }>,
): Promise<Upload | undefined> {
  const row = await db<Row>(uploads)
    .where({ id: of.id, package_id: of.packageId, user_id: of.userId })
    .andWhere("expires_at", ">=", db.fn.now())
    .first();
  return row && uploadOf(row);
}

/**
 * Adds a stored chunk behind the others.
 *
 * @returns undefined when another one came first, or the upload is gone: nothing is changed then
 */
export async function addChunk(
  db: Knex,
  upload: Upload,
  { sha256, bytes }: Chunk,
): Promise<Upload | undefined> {
  const { rows } = await db.raw<Readonly<{ rows: readonly Row[] }>>(
    `with moved as (
       update ${uploads} set
         bytes = bytes + :bytes,
         chunks = chunks + 1,
         expires_at = now() + make_interval(hours => :hours)
       where id = :id and chunks = :number
       returning *
     ), added as (
       insert into ${chunks} (upload_id, number, sha256, bytes)
       select id, :number, :sha256, :bytes from moved
     )
     select * from moved`,
    { id: upload.id, number: upload.chunks, sha256, bytes, hours: lifeHours },
  );
  const [row] = rows;
  return row && uploadOf(row);
}

export async function chunksOf(db: Knex, uploadId: string): Promise<readonly Chunk[]> {
  const rows: readonly Readonly<{ sha256: string; bytes: bigint }>[] = await db(chunks)
    .where("upload_id", uploadId)
    .orderBy("number")
    .select("sha256", "bytes");
  return rows.map(({ sha256, bytes }) => ({ sha256, bytes: Number(bytes) }));
}

/** Ends the upload and gives the image what came of it, in one step. */
export async function finishUpload(db: Knex, upload: Upload, blob: ImageBlob): Promise<void> {
  const ended = db(uploads).where({ id: upload.id }).delete();
  await linking(db, upload, [blob]).with("ended", ended);
}

export async function cancelUpload(db: Knex, uploadId: string): Promise<void> {
  await db(uploads).where({ id: uploadId }).delete();
}

/** Removes uploads that were not continued in time, and blobs that no manifest names. */
export async function sweepContainers(db: Knex): Promise<void> {
  await db(uploads).where("expires_at", "<", db.fn.now()).delete();
  await db("public.container_blob").where("held_until", "<", db.fn.now()).delete();
}
