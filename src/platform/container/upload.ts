import { randomUUID } from "node:crypto";
import type { Knex } from "knex";

import { Refusal } from "../refusal.ts";
import { type Image, type ImageBlob, linkBlobs } from "./link.ts";

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

const expiry = (db: Knex) => db.raw("now() + make_interval(hours => ?)", [lifeHours]);

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
  const open = await db(uploads).where("user_id", userId).limit(openMaxPerUser).select("id");
  if (open.length >= openMaxPerUser) {
    const message = `You have ${openMaxPerUser} uploads under way. Finish or cancel some.`;
    const details = { retryAfterSeconds: 60 };
    throw new Refusal("too_many", "container.too_many_uploads", message, details);
  }
  const id = randomUUID();
  const of = { package_id: packageId, registry_id: registryId, user_id: userId };
  await db(uploads).insert({ id, ...of, bytes: 0, chunks: 0, expires_at: expiry(db) });
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
export function addChunk(db: Knex, upload: Upload, chunk: Chunk): Promise<Upload | undefined> {
  return db.transaction(async (tx) => {
    const [row] = await tx<Row>(uploads)
      .where({ id: upload.id, chunks: upload.chunks })
      .update({
        bytes: tx.raw("bytes + ?", [chunk.bytes]),
        chunks: tx.raw("chunks + 1"),
        expires_at: expiry(tx),
      } as object)
      .returning("*");
    if (row === undefined) return undefined;
    await tx(chunks).insert({ upload_id: upload.id, number: upload.chunks, ...chunk });
    return uploadOf(row);
  });
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
  await db.transaction(async (tx) => {
    await linkBlobs(tx, upload, [blob]);
    await tx(uploads).where({ id: upload.id }).delete();
  });
}

export async function cancelUpload(db: Knex, uploadId: string): Promise<void> {
  await db(uploads).where({ id: uploadId }).delete();
}

/** Frees what ended a while ago: uploads that nobody goes on with, blobs that no manifest names. */
export async function sweepContainers(db: Knex): Promise<void> {
  await db(uploads).where("expires_at", "<", db.fn.now()).delete();
  await db("public.container_blob").where("held_until", "<", db.fn.now()).delete();
}
