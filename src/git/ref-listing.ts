import { readdir, stat } from "node:fs/promises";
import path from "node:path";

import { ifThere } from "../platform/if-there.ts";
import { isObjectId, isRefName } from "./name.ts";
import type { ObjectReader } from "./object/reader.ts";
import { dataOf, headInFile, textOf } from "./ref-files.ts";
import { servicePrefix, serviceRef } from "./service-ref.ts";

/** A branch, a tag or a ref of the service's own; `peeled` is what an annotated tag leads to. */
export type ListedRef = Readonly<{ name: string; id: string; peeled?: string | undefined }>;

/** Some thousands of refs: beyond it git lists them in a process, and so on a processor, of its own. */
const packedBytesMax = 256 * 1024;
const filesMax = 256;

export type RefListing = Readonly<{
  /** The branch that HEAD points to, whether or not it exists. */
  head: string;
  /** All branches and tags, and the service's own if requested, in the order of their names' bytes. */
  refs: readonly ListedRef[];
}>;

/**
 * Where refs stand, read as git reads them: those with a file first, then `packed-refs`; see ref-files.ts
 * for why this order misses none.
 *
 * @param withServiceRefs whether refs of the service's own are listed as well
 * @returns undefined when there are many, or something is there that only git understands
 */
export async function refListing(
  gitDir: string,
  objects: Pick<ObjectReader, "peelToAny">,
  withServiceRefs = false,
): Promise<RefListing | undefined> {
  const listing = listedRefs(gitDir, objects, withServiceRefs);
  const [head, refs] = await Promise.all([headInFile(gitDir), listing]);
  return head === undefined || refs === undefined ? undefined : { head, refs };
}

async function listedRefs(
  gitDir: string,
  objects: Pick<ObjectReader, "peelToAny">,
  withServiceRefs: boolean,
): Promise<readonly ListedRef[] | undefined> {
  const isListed = (name: string): boolean =>
    isRefName(name) || (withServiceRefs && serviceRef.test(name));
  const own = withServiceRefs ? await filesBelow(gitDir, servicePrefix) : [];
  const names = await namesOfFiles(gitDir, own.filter(isListed));
  if (names === undefined) return undefined;
  const loose = await Promise.all(names.map((name) => looseRef(gitDir, name, objects)));
  const packed = await packedRefs(path.join(gitDir, "packed-refs"), isListed);
  if (packed === undefined || loose.includes("odd")) return undefined;
  const refs = new Map(packed.map((ref) => [ref.name, ref]));
  for (const ref of loose) if (typeof ref === "object") refs.set(ref.name, ref);
  // We cannot send a name that is not UTF-8 unchanged.
  if ([...refs.keys()].some((name) => name.includes("\ufffd"))) return undefined;
  return [...refs.values()]
    .map((ref) => ({ ref, bytes: Buffer.from(ref.name).toString("latin1") }))
    .sort((a, b) => (a.bytes < b.bytes ? -1 : 1))
    .map(({ ref }) => ref);
}

/**
 * Text that differs whenever a ref, or HEAD, differs.
 *
 * @returns undefined when it cannot be determined at once
 */
export async function refState(gitDir: string): Promise<string | undefined> {
  const names = await namesOfFiles(gitDir);
  if (names === undefined) return undefined;
  const files = ["HEAD", ...[...names].sort()];
  const lines = files.map(async (name) => `${name} ${await textOf(path.join(gitDir, name))}`);
  const loose = await Promise.all(lines);
  // Git replaces it by a new file.
  const packed = await stat(path.join(gitDir, "packed-refs"), { bigint: true }).catch(() => null);
  return [...loose, packed?.ino, packed?.mtimeNs, packed?.size].join("\n");
}

/** A file may be packed or deleted while the directory is read: then it is looked for once more, by git. */
async function namesOfFiles(
  gitDir: string,
  further: readonly string[] = [],
): Promise<readonly string[] | undefined> {
  // Git makes the directory of notes with the first of them, and removes it with the last.
  const kinds = [
    filesIn(gitDir, "refs/heads"),
    filesIn(gitDir, "refs/tags"),
    filesBelow(gitDir, "refs/notes"),
  ];
  const listings = await ifThere(Promise.all(kinds));
  if (listings === undefined) return undefined;
  // What git is just writing has a name of its own.
  const refs = [...listings.flat().filter(isRefName), ...further];
  return refs.length > filesMax ? undefined : refs;
}

/** None when the directory is not there, or goes while it is read: git packs what it held first. */
const filesBelow = async (gitDir: string, directory: string): Promise<readonly string[]> =>
  (await ifThere(filesIn(gitDir, directory))) ?? [];

async function filesIn(gitDir: string, directory: string): Promise<readonly string[]> {
  const options = { recursive: true, withFileTypes: true } as const;
  const entries = await readdir(path.join(gitDir, directory), options);
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map(({ parentPath, name }) => path.relative(gitDir, path.join(parentPath, name)));
}

/** @returns "gone" when it has no file any more, "odd" when the file holds something else than an id */
async function looseRef(
  gitDir: string,
  name: string,
  objects: Pick<ObjectReader, "peelToAny">,
): Promise<ListedRef | "gone" | "odd"> {
  const id = (await textOf(path.join(gitDir, name)))?.trimEnd();
  if (id === undefined) return "gone";
  if (!isObjectId(id)) return "odd";
  // Branches are of commits, as git takes nothing else, and so are the service's own.
  if (!name.startsWith("refs/tags/")) return { name, id };
  const peeled = await objects.peelToAny(id);
  if (peeled === undefined) return "odd";
  return peeled === id ? { name, id } : { name, id, peeled };
}

/** `<id> <name>`, then `^<id>` if the one before is an annotated tag; git-pack-refs(1). */
async function packedRefs(
  file: string,
  isListed: (name: string) => boolean,
): Promise<readonly ListedRef[] | undefined> {
  const data = await dataOf(file, packedBytesMax);
  if (data === undefined) return undefined;
  if (data === null) return [];
  const refs: ListedRef[] = [];
  const [header, ...lines] = data.toString().split("\n");
  // Without it, what tags lead to is not said.
  if (!/^# pack-refs with:.* fully-peeled /.test(header ?? "")) return undefined;
  let last: ListedRef | undefined;
  for (const line of lines) {
    if (line.startsWith("^")) {
      // Refs that are not listed, such as a mirror's copies of tags, have such lines too.
      if (last !== undefined) refs[refs.length - 1] = { ...last, peeled: line.slice(1) };
    } else if (line !== "") {
      const [id = "", name = ""] = line.split(" ", 2);
      if (!isObjectId(id)) return undefined;
      last = isListed(name) ? { name, id } : undefined;
      if (last !== undefined) refs.push(last);
    }
  }
  return refs;
}
