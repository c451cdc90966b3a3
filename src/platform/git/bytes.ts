import { lstat, readdir, rm } from "node:fs/promises";
import path from "node:path";

/** A push or fetch may take hours; what is older was left by a process that died. */
const leftOverAfterMs = 6 * 60 * 60_000;

/** Bytes of all files below a directory. Files that come and go meanwhile count or do not. */
export async function bytesBelow(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await entriesOf(directory)) {
    const file = path.join(directory, entry.name);
    if (entry.isDirectory()) bytes += await bytesBelow(file);
    else bytes += (await lstatOrNothing(file))?.size ?? 0;
  }
  return bytes;
}

/** Removes what git keeps objects in while they come (tmp_…), when nobody is at it any more. */
export async function removeLeftOverObjects(gitDir: string): Promise<void> {
  const before = Date.now() - leftOverAfterMs;
  for (const directory of ["objects", "objects/pack"].map((name) => path.join(gitDir, name))) {
    for (const { name } of await entriesOf(directory)) {
      const file = path.join(directory, name);
      if (!name.startsWith("tmp_")) continue;
      const found = await lstatOrNothing(file);
      if (found !== undefined && found.mtimeMs < before) await rm(file, { recursive: true });
    }
  }
}

const gone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

function entriesOf(directory: string) {
  return readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
    if (gone(error)) return [];
    throw error;
  });
}

function lstatOrNothing(file: string) {
  return lstat(file).catch((error: unknown) => {
    if (gone(error)) return undefined;
    throw error;
  });
}
