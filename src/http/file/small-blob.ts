import type { Blobs } from "../../platform/blob/blobs.ts";
import { BoundedCache } from "../../platform/bounded-cache.ts";

/** Larger contents cost more to send than to open. */
export const smallBlobBytesMax = 64 * 1024;
const bytesMax = 16 * 1024 ** 2;

const memories = new WeakMap<Blobs, BoundedCache<Buffer>>();

/**
 * A small content, whole, from memory where it was read before: it never changes. Whether the caller may have it is
 * for what refers to it to say.
 *
 * @throws BlobMissing
 */
export async function smallBlob(digest: string, blobs: Blobs): Promise<Buffer> {
  const memory = memories.get(blobs) ?? new BoundedCache<Buffer>(bytesMax);
  memories.set(blobs, memory);
  const known = memory.get(digest);
  if (known !== undefined) return known;
  const chunks: Buffer[] = [];
  for await (const chunk of await blobs.read(digest)) chunks.push(chunk as Buffer);
  const content = Buffer.concat(chunks);
  memory.set(digest, content, content.length);
  return content;
}
