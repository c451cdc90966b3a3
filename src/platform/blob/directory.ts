import { constants, type Dirent } from "node:fs";
import { mkdir, open, opendir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { ifThere } from "../if-there.ts";
import { syncFile } from "../sync-file.ts";
import { removeOlder } from "./spool.ts";
import { BlobMissing, type BlobStorage, blobPath, isBlobDigest } from "./store.ts";

/** Large enough that a disk reads ahead, small enough for thousands of readers. */
const readBytes = 256 * 1024;

/**
 * Blobs as files `ab/cd/<sha256>` below a directory. A blob is written under another name, synced,
 * and renamed into place; the directories are synced before it counts as stored.
 */
export function directoryStorage(root: string): BlobStorage {
  const spoolDirectory = path.join(root, "temporary");
  const fileOf = (digest: string): string => path.join(root, blobPath(digest));
  return {
    spoolDirectory,

    async publish({ file, digest }) {
      const place = fileOf(digest);
      const shard = path.dirname(place);
      const made = await mkdir(shard, { recursive: true });
      // In the place of the same content, if there is any: who reads that goes on reading it.
      await rename(file, place);
      await syncUpTo(shard, made === undefined ? shard : path.dirname(made));
    },

    async stat(digest) {
      const found = await ifThere(stat(fileOf(digest)));
      return found?.isFile() === true ? { bytes: found.size } : undefined;
    },

    async read(digest, range) {
      const flags = constants.O_RDONLY | constants.O_NOFOLLOW;
      const handle = await ifThere(open(fileOf(digest), flags), "ELOOP");
      if (handle === undefined) throw new BlobMissing(digest);
      const part = range && { start: range.first, end: range.last };
      return handle.createReadStream({ highWaterMark: readBytes, ...part });
    },

    remove: (digest) => rm(fileOf(digest), { force: true }),

    async *list(before) {
      for await (const file of filesBelow(root, 2)) {
        const digest = path.basename(file);
        if (!isBlobDigest(digest) || file !== fileOf(digest)) continue;
        const found = await ifThere(stat(file));
        if (found !== undefined && found.mtime < before) yield digest;
      }
    },

    sweep: (before) => removeOlder(spoolDirectory, before),
    close: () => undefined,
  };
}

/** A new directory is an entry of the one above it, which has to reach the disk as well. */
async function syncUpTo(directory: string, last: string): Promise<void> {
  const directories = [directory];
  for (let at = directory; at !== last && at !== path.dirname(at); ) {
    at = path.dirname(at);
    directories.push(at);
  }
  // Together, for they wait for one commit of the file system's journal.
  await Promise.all(directories.map(syncFile));
}

async function* filesBelow(directory: string, depth: number): AsyncGenerator<string> {
  const entries: AsyncIterable<Dirent> | undefined = await ifThere(opendir(directory));
  for await (const entry of entries ?? []) {
    const file = path.join(directory, entry.name);
    if (entry.isFile() && depth === 0) yield file;
    if (entry.isDirectory() && depth > 0) yield* filesBelow(file, depth - 1);
  }
}
