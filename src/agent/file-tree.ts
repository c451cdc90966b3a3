import type { Dirent, Stats } from "node:fs";
import { lstat, mkdir, readdir } from "node:fs/promises";
import path from "node:path";

import { globMatcher } from "../platform/pipeline-file/pattern.ts";

export type FoundFile = Readonly<{
  /** Relative to the root, with slashes. */
  path: string;
  kind: "file" | "link" | "directory";
}>;

/** More files are refused: such an archive cannot be used. */
const entriesMax = 500_000;

export type Wanted = Readonly<{
  /** Globs or paths, relative to the root; a directory means all that is in it. */
  paths: readonly string[];
  exclude: readonly string[];
  /** Further files by their exact paths. */
  also?: ReadonlySet<string>;
  /** Where the job sees the root: absolute paths below it are meant as relative ones. */
  seenRoot?: string;
}>;

/**
 * Finds files below a directory. Links are found, never followed, so that nothing outside is. `.git` at
 * the root is left out.
 *
 * @returns them, and those of `paths` that lead outside or are malformed
 * @throws Error when there are too many
 */
export async function findFiles(
  root: string,
  { paths, exclude, also, seenRoot = root }: Wanted,
): Promise<Readonly<{ files: readonly FoundFile[]; refused: readonly string[] }>> {
  const refused: string[] = [];
  const included = matchers(seenRoot, paths, refused);
  const excluded = matchers(seenRoot, exclude, []);
  const files: FoundFile[] = [];

  async function walk(directory: string, inherited: boolean): Promise<void> {
    const entries = await readdir(path.join(root, directory), { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const at = directory === "" ? entry.name : `${directory}/${entry.name}`;
      if (at === ".git") continue;
      const isMeant = inherited || included.some((fits) => fits(at)) || also?.has(at) === true;
      const kind = kindOf(entry);
      if (isMeant && kind !== undefined && !excluded.some((fits) => fits(at))) {
        files.push({ path: at, kind });
      }
      if (files.length > entriesMax) throw new Error(`More than ${entriesMax} files were found.`);
      if (kind === "directory") await walk(at, isMeant);
    }
  }

  await walk(
    "",
    included.some((fits) => fits(".")),
  );
  return { files, refused };
}

function kindOf(entry: Dirent): FoundFile["kind"] | undefined {
  if (entry.isFile()) return "file";
  if (entry.isSymbolicLink()) return "link";
  return entry.isDirectory() ? "directory" : undefined;
}

type Matcher = (path: string) => boolean;

function matchers(root: string, globs: readonly string[], refused: string[]): readonly Matcher[] {
  return globs.flatMap((glob) => {
    const inside = path.posix.isAbsolute(glob) ? path.posix.relative(root, glob) : glob;
    const plain = path.posix.normalize(inside).replace(/\/+$/, "");
    const isOutside = plain === ".." || plain.startsWith("../");
    const fits = isOutside ? undefined : globMatcher(plain);
    if (fits === undefined) refused.push(glob);
    return fits === undefined ? [] : [fits];
  });
}

/**
 * Makes the directories above a path below the root.
 *
 * @param known directories that were found or made before, and stay; those found now are added
 * @throws Error when the path leads outside, or through something that is no directory
 */
export async function makeParents(
  root: string,
  relative: string,
  known: Set<string> = new Set(),
): Promise<string> {
  const parts = relative.split("/").filter((part) => part !== "" && part !== ".");
  const isOutside = parts.includes("..") || path.isAbsolute(relative) || relative.includes("\0");
  if (isOutside || parts.length === 0) throw new Error(`${relative} leads out of the project.`);
  let at = root;
  for (const part of parts.slice(0, -1)) {
    at = path.join(at, part);
    if (known.has(at)) continue;
    const entry: Stats | undefined = await lstat(at).catch(() => undefined);
    if (entry === undefined) await mkdir(at, { mode: 0o755 });
    else if (!entry.isDirectory()) throw new Error(`${relative} leads through a link or a file.`);
    known.add(at);
  }
  return path.join(at, parts.at(-1) ?? "");
}
