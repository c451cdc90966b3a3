import { randomUUID } from "node:crypto";
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { deflate } from "node:zlib";

import { isMissing } from "../ref-files.ts";
import type { Repository } from "../repository.ts";
import type { NewObject } from "./pack-writer.ts";

const compress = promisify(deflate);

/** An object as its file holds it: compressed, with a header; gitrepository-layout(5). */
export type LooseObject = Readonly<{ id: string; file: Buffer }>;

/** The mode that git uses: a file named by its content is never written to again. */
const mode = 0o444;

/** The file of an object that this process has made. */
export async function looseObject({ id, type, data }: NewObject): Promise<LooseObject> {
  const header = Buffer.from(`${type} ${data.length}\0`, "latin1");
  return { id, file: await compress(Buffer.concat([header, data])) };
}

/**
 * Reads the objects in a directory that git was made to write to (GIT_OBJECT_DIRECTORY).
 *
 * @returns undefined when they are more, or larger together, or not all in files of their own
 */
export async function looseObjectsIn(
  directory: string,
  max: Readonly<{ objects: number; bytes: number }>,
): Promise<readonly LooseObject[] | undefined> {
  const names: string[] = [];
  for (const part of await readdir(directory)) {
    // A pack, or what only git understands.
    if (!/^[0-9a-f]{2}$/.test(part)) return undefined;
    for (const rest of await readdir(path.join(directory, part))) {
      if (/^[0-9a-f]{38,62}$/.test(rest)) names.push(path.join(part, rest));
      if (names.length > max.objects) return undefined;
    }
  }
  let bytes = 0;
  for (const name of names) bytes += (await stat(path.join(directory, name))).size;
  if (bytes > max.bytes) return undefined;
  return Promise.all(
    names.map(async (name) => {
      const file = await readFile(path.join(directory, name));
      return { id: name.replace(path.sep, ""), file };
    }),
  );
}

/**
 * Puts objects into a repository without a process of git, as git does: each is written and synced under another
 * name, then renamed, in any order. Nothing is checked: only for objects that git has made, or this process from
 * checked parts, and that no ref leads to before all of them are there.
 */
export async function writeLooseObjects(
  { gitDir }: Pick<Repository, "gitDir">,
  objects: readonly LooseObject[],
): Promise<void> {
  const directory = path.join(gitDir, "objects");
  // Upkeep removes what a process that died left under such a name.
  const drafts = objects.map(() => path.join(directory, `tmp_obj_${randomUUID()}`));
  try {
    await Promise.all(objects.map(({ file }, index) => writeSynced(drafts[index] ?? "", file)));
    for (const [index, { id }] of objects.entries()) {
      await moveInto(path.join(directory, id.slice(0, 2)), id.slice(2), drafts[index] ?? "");
    }
  } catch (error) {
    await Promise.all(drafts.map((draft) => rm(draft, { force: true })));
    throw error;
  }
}

async function writeSynced(draft: string, data: Buffer): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(draft, "wx", mode);
    await handle.writeFile(data);
    await handle.sync();
  } finally {
    await handle?.close();
  }
}

/** A file of the name holds the same: to put another in its place does no harm. */
async function moveInto(directory: string, name: string, draft: string): Promise<void> {
  const file = path.join(directory, name);
  await rename(draft, file).catch(async (error: unknown) => {
    if (!isMissing(error)) throw error;
    // Of a repository that was removed at this instant nothing is made again.
    await mkdir(directory).catch((failure: NodeJS.ErrnoException) => {
      if (failure.code !== "EEXIST") throw failure;
    });
    await rename(draft, file);
  });
}
