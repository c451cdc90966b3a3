import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { BlobMissing } from "../../platform/blob/store.ts";
import { ifThere } from "../../platform/if-there.ts";
import { hashedBy } from "./line-file.ts";

/**
 * Writes content to a file that is named by its SHA-256, unless it is there.
 *
 * @returns false when it was removed meanwhile, because nothing refers to it any more
 * @throws Error when the content is not what it is named by
 */
export async function storeBlob(
  digest: string,
  target: string,
  read: () => Promise<Readable>,
): Promise<boolean> {
  if ((await ifThere(stat(target))) !== undefined) return true;
  const draft = `${target}.tmp_part`;
  await mkdir(path.dirname(target), { recursive: true });
  const hash = createHash("sha256");
  try {
    await pipeline(await read(), hashedBy(hash), createWriteStream(draft, { mode: 0o600 }));
  } catch (error) {
    await rm(draft, { force: true });
    if (error instanceof BlobMissing) return false;
    throw error;
  }
  if (hash.digest("hex") !== digest) {
    await rm(draft);
    throw new Error(`The content of ${digest} was damaged: \`ledgerforge doctor\` reports more`);
  }
  await rename(draft, target);
  return true;
}
