import { Refusal } from "../platform/refusal.ts";
import type { TreeEntry } from "./object/object.ts";
import type { ObjectReader } from "./object/reader.ts";

/** One path that two trees have differently; an absent side is undefined. Directories are not listed. */
export type TreeChange = Readonly<{
  path: string;
  before: TreeEntry | undefined;
  after: TreeEntry | undefined;
}>;

export type TreeLimits = Readonly<{
  filesMax: number;
  treesMax: number;
  /** Of all trees together, as git stores them; in memory they take five times as much. */
  bytesMax: number;
  pathBytesMax: number;
}>;

/**
 * Bounds of one comparison. They stop what is cheap to store and endless to walk: a tree that holds
 * itself ten times over at each of ten levels, directories nested by the ten thousand, directories of
 * a million files each that differ in one name.
 */
export const treeLimits: TreeLimits = {
  filesMax: 10_000,
  treesMax: 50_000,
  bytesMax: 32 * 1024 ** 2,
  pathBytesMax: 4_096,
};

/** Trees read at once: enough to keep the reader of the repository busy. */
const treesAtOnce = 32;

type Pair = Readonly<{ path: string; before: string | undefined; after: string | undefined }>;

/**
 * What two trees have differently, in no order. Subtrees with the same id are not read.
 *
 * @throws Refusal 422 `diff.too_large` beyond the limits
 */
export async function compareTrees(
  objects: Pick<ObjectReader, "tree" | "info">,
  trees: Readonly<{ before: string | undefined; after: string | undefined }>,
  limits: TreeLimits = treeLimits,
): Promise<readonly TreeChange[]> {
  const changes: TreeChange[] = [];
  let pairs: readonly Pair[] = [{ path: "", ...trees }];
  let readCount = 0;
  let readBytes = 0;
  while (pairs.length > 0) {
    const next: Pair[] = [];
    for (let at = 0; at < pairs.length; at += treesAtOnce) {
      const some = pairs.slice(at, at + treesAtOnce);
      readCount += some.length;
      if (readCount > limits.treesMax) throw tooLarge(`${limits.treesMax} directories`);
      readBytes += await bytesOf(objects, some);
      if (readBytes > limits.bytesMax) throw tooLarge("directories may hold");
      const compared = await Promise.all(some.map((pair) => comparePair(objects, pair)));
      for (const { files, directories } of compared) {
        // Checked before: a call takes no more than some 100,000 arguments.
        if (changes.length + files.length > limits.filesMax) {
          throw tooLarge(`${limits.filesMax} files`);
        }
        if (next.length + directories.length > limits.treesMax) {
          throw tooLarge(`${limits.treesMax} directories`);
        }
        changes.push(...files);
        next.push(...directories);
      }
    }
    for (const { path } of next) {
      if (path.length > limits.pathBytesMax) throw tooLarge("any path may be long");
    }
    pairs = next;
  }
  return changes;
}

/** Checked before the trees are read: reading them into memory is the harm. */
async function bytesOf(
  objects: Pick<ObjectReader, "info">,
  pairs: readonly Pair[],
): Promise<number> {
  const ids = pairs.flatMap(({ before, after }) => [before ?? [], after ?? []].flat());
  const infos = await Promise.all(ids.map((id) => objects.info(id)));
  return infos.reduce((sum, info) => sum + (info?.bytes ?? 0), 0);
}

type Compared = Readonly<{ files: readonly TreeChange[]; directories: readonly Pair[] }>;

async function comparePair(objects: Pick<ObjectReader, "tree">, pair: Pair): Promise<Compared> {
  const [before, after] = await Promise.all([
    entriesOf(objects, pair.before),
    entriesOf(objects, pair.after),
  ]);
  const files: TreeChange[] = [];
  const directories: Pair[] = [];
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const one = before.get(name);
    const other = after.get(name);
    if (one?.id === other?.id && one?.kind === other?.kind) continue;
    const path = pair.path === "" ? name : `${pair.path}/${name}`;
    const was = one?.kind === "directory" ? one.id : undefined;
    const is = other?.kind === "directory" ? other.id : undefined;
    if (was !== undefined || is !== undefined) directories.push({ path, before: was, after: is });
    const file = was === undefined ? one : undefined;
    const newFile = is === undefined ? other : undefined;
    if (file ?? newFile) files.push({ path, before: file, after: newFile });
  }
  return { files, directories };
}

async function entriesOf(
  objects: Pick<ObjectReader, "tree">,
  id: string | undefined,
): Promise<ReadonlyMap<string, TreeEntry>> {
  if (id === undefined) return new Map();
  const entries = await objects.tree(id);
  if (entries === undefined) throw tooLarge("one directory may hold");
  return new Map(entries.map((entry) => [entry.name, entry]));
}

function tooLarge(what: string): Refusal {
  const message = `The comparison is too large: more than ${what}. Compare in a clone.`;
  return new Refusal("unprocessable", "diff.too_large", message);
}
