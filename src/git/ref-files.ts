import { open } from "node:fs/promises";
import path from "node:path";

import { isObjectId } from "./name.ts";

/**
 * Where refs stand, read as git reads them: each has a file, or a line in `packed-refs`
 * (gitrepository-layout(5)). The file is read first: packing writes the line before it takes the
 * file away, deleting takes the line away before the file, so a ref that stands is always seen.
 *
 * @param names full names that `isRefName` has passed, as few as one likes to search a file for
 * @returns those that are there; undefined when something is there that only git understands
 */
export async function refsInFiles(
  gitDir: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, string> | undefined> {
  const refs = new Map<string, string>();
  const loose = await Promise.all(names.map((name) => textOf(path.join(gitDir, name))));
  const packed = loose.includes(undefined) ? await dataOf(path.join(gitDir, "packed-refs")) : null;
  for (const [index, name] of names.entries()) {
    const text = loose[index];
    const id = text === undefined ? packedId(packed, name) : text.trimEnd();
    if (id === undefined) continue;
    // A symbolic ref, or what a power cut left.
    if (!isObjectId(id)) return undefined;
    refs.set(name, id);
  }
  return refs;
}

/** The branch that HEAD points to; undefined when it points to none. */
export async function headInFile(gitDir: string): Promise<string | undefined> {
  const text = await textOf(path.join(gitDir, "HEAD"));
  return /^ref: refs\/heads\/(\S+)\n$/.exec(text ?? "")?.[1];
}

/** `<id> <name>`, one a line, beside comments and what tags peel to. */
function packedId(packed: Buffer | null | undefined, name: string): string | undefined {
  const at = packed?.indexOf(` ${name}\n`) ?? -1;
  if (!packed || at < 0) return undefined;
  return packed.toString("latin1", packed.lastIndexOf("\n", at) + 1, at);
}

/** Undefined when there is no such file. */
export async function textOf(file: string): Promise<string | undefined> {
  return (await dataOf(file))?.toString("latin1");
}

/**
 * Null when there is no such file; a directory of refs whose names go on is none either. Git never writes to
 * one that is there: it puts another in its place.
 *
 * @returns undefined when it is larger
 */
export async function dataOf(file: string, bytesMax = Number.POSITIVE_INFINITY) {
  try {
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      if (size > bytesMax) return undefined;
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      // Nobody has to wait for it.
      handle.close().catch(() => undefined);
    }
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** There is nothing of the name, or not of the kind. */
export function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return ["ENOENT", "ENOTDIR", "EISDIR"].includes(code);
}
