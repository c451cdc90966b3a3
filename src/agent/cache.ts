import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import path from "node:path";

import { isThere } from "../platform/if-there.ts";
import { unpackZip, writeZip } from "./archive.ts";
import type { Wanted } from "./file-tree.ts";
import { findFiles } from "./file-tree.ts";

/** When the caches of a machine take more, those that were not used for the longest time go. */
const cacheBytesMax = 20 * 1024 ** 3;

export type Caches = Readonly<{
  /** @returns the key that was found */
  restore: (
    keys: readonly string[],
    root: string,
    signal?: AbortSignal,
  ) => Promise<string | undefined>;
  /** @returns how many files it holds; 0 when there was nothing to store */
  store: (key: string, root: string, wanted: Wanted) => Promise<number>;
}>;

const draftEnd = ".new";

/** The caches of one project, on this machine's disk. */
export function openCaches(directory: string, projectId: number, bytesMax = cacheBytesMax): Caches {
  const own = path.join(directory, String(projectId));
  const fileOf = (key: string): string =>
    path.join(own, `${createHash("sha256").update(key).digest("hex")}.zip`);
  return {
    async restore(keys, root, signal) {
      for (const key of keys) {
        const file = fileOf(key);
        if (!(await isThere(file))) continue;
        await unpackZip(file, root, signal);
        await utimes(file, new Date(), new Date());
        return key;
      }
      return undefined;
    },
    async store(key, root, wanted) {
      const { files } = await findFiles(root, wanted);
      if (files.length === 0) return 0;
      await mkdir(own, { recursive: true, mode: 0o700 });
      const draft = path.join(own, `${randomUUID()}${draftEnd}`);
      try {
        await writeZip(root, files, { target: draft, signal: wanted.signal });
        await rename(draft, fileOf(key));
      } finally {
        await rm(draft, { force: true });
      }
      await shrink(directory, bytesMax);
      return files.length;
    },
  };
}

/** Removes what was being written by an agent that was killed. */
export async function removeDrafts(directory: string): Promise<void> {
  const names = await readdir(directory, { recursive: true }).catch(() => []);
  const drafts = names.filter((name) => name.endsWith(draftEnd));
  for (const name of drafts) await rm(path.join(directory, name), { force: true });
}

async function shrink(directory: string, bytesMax: number): Promise<void> {
  const names = await readdir(directory, { recursive: true });
  const archives = await Promise.all(
    names
      .filter((name) => name.endsWith(".zip"))
      .map(async (name) => {
        const file = path.join(directory, name);
        const entry = await stat(file).catch(() => undefined);
        return { file, bytes: entry?.size ?? 0, usedAt: entry?.mtimeMs ?? 0 };
      }),
  );
  archives.sort((a, b) => b.usedAt - a.usedAt);
  let bytes = 0;
  for (const each of archives) {
    bytes += each.bytes;
    if (bytes > bytesMax) await rm(each.file, { force: true });
  }
}
