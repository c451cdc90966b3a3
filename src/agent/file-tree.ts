import type { Dirent, Stats } from "node:fs";
import { lstat, mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { globMatcher } from "../pipeline-file/pattern.ts";
import { ifThere } from "../platform/if-there.ts";

export type FoundFile = Readonly<{
  /** Relative to the root, with slashes. Names of files are bytes, which need not be UTF-8. */
  path: Buffer;
  kind: "file" | "link" | "directory";
}>;

/** @returns where it is on this machine */
export const below = (root: string, relative: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), relative]);

/** More files are refused: such an archive cannot be used. */
const entriesMax = 500_000;

export type Wanted = Readonly<{
  /** Globs or paths, relative to the root; a directory means all that is in it. */
  paths: readonly string[];
  exclude: readonly string[];
  /** Further files by their exact paths, with a character for each byte (`latin1`). */
  also?: ReadonlySet<string>;
  /** Where the job sees the root: absolute paths below it are meant as relative ones. */
  seenRoot?: string;
  /** Ends the search. */
  signal?: AbortSignal;
}>;

/**
 * Finds files below a directory. Links are found, never followed, so that nothing outside is. `.git` at
 * the root is left out. There are none where there is no root.
 *
 * @returns them, and those of `paths` that lead outside or are malformed
 * @throws Error when there are too many
 */
export async function findFiles(
  root: string,
  { paths, exclude, also, seenRoot = root, signal }: Wanted,
): Promise<Readonly<{ files: readonly FoundFile[]; refused: readonly string[] }>> {
  const refused: string[] = [];
  const included = matchers(seenRoot, paths, refused);
  const excluded = matchers(seenRoot, exclude, []);
  const files: FoundFile[] = [];

  /** @param directory with a slash at its end, or empty */
  async function walk(directory: Buffer, inherited: boolean): Promise<void> {
    signal?.throwIfAborted();
    const options = { withFileTypes: true, encoding: "buffer" } as const;
    const reading = readdir(below(root, directory), options);
    const entries = directory.length === 0 ? ((await ifThere(reading)) ?? []) : await reading;
    entries.sort((a, b) => Buffer.compare(a.name, b.name));
    for (const entry of entries) {
      const at = Buffer.concat([directory, entry.name]);
      const text = at.toString();
      if (text === ".git") continue;
      const isMeant =
        inherited ||
        included.some((fits) => fits(text)) ||
        also?.has(at.toString("latin1")) === true;
      const kind = kindOf(entry);
      if (isMeant && kind !== undefined && !excluded.some((fits) => fits(text))) {
        files.push({ path: at, kind });
      }
      if (files.length > entriesMax) throw new Error(`More than ${entriesMax} files were found.`);
      if (kind === "directory") await walk(Buffer.concat([at, slash]), isMeant);
    }
  }

  await walk(
    Buffer.alloc(0),
    included.some((fits) => fits(".")),
  );
  return { files, refused };
}

const slash = Buffer.from("/");

function kindOf(entry: Dirent<Buffer>): FoundFile["kind"] | undefined {
  if (entry.isFile()) return "file";
  if (entry.isSymbolicLink()) return "link";
  return entry.isDirectory() ? "directory" : undefined;
}

type Matcher = (path: string) => boolean;

function matchers(root: string, globs: readonly string[], refused: string[]): readonly Matcher[] {
  return globs.flatMap((glob) => {
    const inside = path.posix.isAbsolute(glob) ? path.posix.relative(root, glob) : glob;
    const plain = path.posix.normalize(inside).replace(/\/$/, "");
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
  relative: Buffer,
  known: Set<string> = new Set(),
): Promise<Buffer> {
  // A character for each byte.
  const text = relative.toString("latin1");
  const parts = text.split("/").filter((part) => part !== "" && part !== ".");
  const isOutside = parts.includes("..") || text.startsWith("/") || text.includes("\0");
  if (isOutside || parts.length === 0) throw new Error(`${relative} leads out of the project.`);
  let at = Buffer.from(root).toString("latin1");
  for (const part of parts.slice(0, -1)) {
    at = `${at}/${part}`;
    if (known.has(at)) continue;
    const directory = Buffer.from(at, "latin1");
    const entry: Stats | undefined = await lstat(directory).catch(() => undefined);
    if (entry === undefined) await mkdir(directory, { mode: 0o755 });
    else if (!entry.isDirectory()) throw new Error(`${relative} leads through a link or a file.`);
    known.add(at);
  }
  return Buffer.from(`${at}/${parts.at(-1) ?? ""}`, "latin1");
}
