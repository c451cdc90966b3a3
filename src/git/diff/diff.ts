import { LRUCache } from "lru-cache";

import { breather } from "../../platform/breather.ts";
import { Limit } from "../../platform/limit.ts";
import { Refusal } from "../../platform/refusal.ts";
import { Answers } from "../answers.ts";
import { GitFailure } from "../failure.ts";
import { isNullObjectId } from "../name.ts";
import type { Repository } from "../repository.ts";
import { runGit } from "../run.ts";
import { compareTrees } from "../tree-walk.ts";
import type { ChangeRecord } from "./change-record.ts";
import { HunkReader, type PatchLine } from "./patch.ts";
import { type CountedChange, DiffReader } from "./records.ts";
import {
  type LineRange,
  type LineWindow,
  lineBytesMax,
  partLines,
  WindowReader,
  windowFrom,
  windowOf,
} from "./window.ts";

/** What happened to one file between two trees. */
export type FileChange = CountedChange &
  Readonly<{
    /** Too much to be shown: the file itself has to be opened. Its lines may be uncounted then. */
    isLarge: boolean;
    /** Shown when requested by itself. */
    isCollapsed: boolean;
  }>;

const shownLinesMax = 20_000;
const shownBytesMax = 2 * 1024 ** 2;
const openLinesMax = 1_000;
const openBytesMax = 100 * 1024;

/** Diffs hold two files each in memory: more at once than processors would only take more of it. */
const diffsAtOnce = new Limit({ name: "git.diffs", total: 2, whenFull: "wait", keepsTurn: true });

/** How far git may go. What one effort could not finish, the next tries with less. */
export type Effort = Readonly<{
  /** With a patch, also the size of each file's changes is known. */
  shows: "patch" | "numstat";
  /** Similar files are paired as renames and copies, when at most so many are on each side. */
  renamesMax: number;
  similarity: string;
  /** Larger files are taken for binary: git holds both sides and an index of their lines in memory. */
  fileBytesMax: number;
  /** One piece of memory; git ends when it wants a larger one. See memory_limit_check in wrapper.c. */
  allocationBytesMax: number;
  timeoutMs: number;
}>;

const mebibyte = 1024 ** 2;
export const thorough: Effort = {
  shows: "patch",
  renamesMax: 400,
  similarity: "50%",
  fileBytesMax: 64 * mebibyte,
  allocationBytesMax: 96 * mebibyte,
  timeoutMs: 15_000,
};
/** Git reads even a binary file into memory to say in a patch that it was added; not to count. */
export const counting: Effort = { ...thorough, shows: "numstat" };
export const modest: Effort = {
  ...counting,
  renamesMax: 1,
  similarity: "100%",
  fileBytesMax: mebibyte,
};

const cachedChanges = new Answers<readonly FileChange[] | "refused">(32 * mebibyte, (changes) =>
  typeof changes === "string" ? 0 : changes.reduce((sum, change) => sum + sizeOf(change), 0),
);
const cachedLines = new Answers<readonly PatchLine[]>(32 * mebibyte, bytesOf);

/** About what the lines take in memory, in bytes. */
function bytesOf(lines: readonly PatchLine[]): number {
  return lines.reduce((sum, { body }) => sum + 2 * body.length + 120, 0);
}

/**
 * The files that two trees have differently, by path, with renames and copies found. Remembered: both
 * ids are of trees, and the caller has found them through a commit of this repository.
 *
 * @param before undefined for the empty tree
 * @throws Refusal 422 `diff.too_large`, `diff.too_complex`
 */
export async function changedFiles(
  repository: Repository,
  before: string | undefined,
  after: string,
  efforts: readonly Effort[] = [thorough, counting, modest],
): Promise<readonly FileChange[]> {
  if (before === after) return [];
  const changes = await cachedChanges.get(`${before ?? ""} ${after}`, async () => {
    await compareTrees(repository.objects, { before, after });
    const from = before ?? emptyTreeOf(after);
    return diffsAtOnce.run(async () => {
      for (const effort of efforts) {
        const found = await attempt(repository, from, after, effort);
        if (found !== undefined) return found;
      }
      return "refused";
    });
  });
  if (changes !== "refused") return changes;
  throw tooComplex();
}

function tooComplex(): Refusal {
  const message = "The comparison takes too long. Compare in a clone.";
  return new Refusal("unprocessable", "diff.too_complex", message);
}

/** Undefined when git did not come to an end within its time and memory. */
export async function attempt(
  repository: Repository,
  before: string,
  after: string,
  effort: Effort,
): Promise<readonly FileChange[] | undefined> {
  const reader = new DiffReader();
  const args = [
    "-r",
    "-z",
    "--raw",
    `--${effort.shows}`,
    ...patchOptions,
    `--find-renames=${effort.similarity}`,
  ];
  const copies = [`--find-copies=${effort.similarity}`, `-l${effort.renamesMax}`];
  try {
    await runGit(
      repository.gitDir,
      ["diff-tree", ...args, ...copies, "--end-of-options", before, after, "--"],
      { ...limitsOf(effort), bytesMax: Number.MAX_SAFE_INTEGER, onStdout: (c) => reader.push(c) },
    );
  } catch (error) {
    if (error instanceof GitFailure) return undefined;
    throw error;
  }
  const changes: FileChange[] = [];
  // One after the other: files too large for git to look into are looked into by a process each.
  for (const change of reader.end()) {
    changes.push(await judged(repository, change, effort.fileBytesMax));
  }
  return changes;
}

const shownAs = { patch: ["--patch", "--unified=3"], numstat: ["--numstat"] } as const;

const patchOptions = [
  "--full-index",
  "--no-color",
  "--no-ext-diff",
  "--no-textconv",
  "--submodule=short",
  "--src-prefix=a/",
  "--dst-prefix=b/",
] as const;

function limitsOf({ fileBytesMax, allocationBytesMax, timeoutMs }: Effort) {
  const env = { GIT_ALLOC_LIMIT: String(allocationBytesMax) };
  const settings = {
    "core.bigFileThreshold": String(fileBytesMax),
    // Names in headers are as they are, but for quotes and control characters.
    "core.quotePath": "false",
  };
  return { timeoutMs, env, settings };
}

async function judged(
  repository: Repository,
  change: CountedChange,
  fileBytesMax: number,
): Promise<FileChange> {
  if (change.isBinary && (await largestSide(repository, change)) > fileBytesMax) {
    // Git has not looked into it.
    const isBinary = !(await beginsAsText(repository, change));
    return { ...change, isBinary, isLarge: true, isCollapsed: true };
  }
  const linesCount = change.addedLines + change.removedLines;
  const isLarge = linesCount > shownLinesMax || change.bytes > shownBytesMax;
  const isCollapsed = isLarge || linesCount > openLinesMax || change.bytes > openBytesMax;
  return { ...change, isLarge, isCollapsed };
}

async function largestSide(repository: Repository, change: ChangeRecord): Promise<number> {
  const sizes = [change.oldId, change.newId].map(async (id) =>
    isNullObjectId(id) ? 0 : ((await repository.objects.info(id))?.bytes ?? 0),
  );
  return Math.max(...(await Promise.all(sizes)));
}

/** As git decides it for files it looks into: no NUL near the beginning. */
async function beginsAsText(repository: Repository, change: ChangeRecord): Promise<boolean> {
  const id = isNullObjectId(change.newId) ? change.oldId : change.newId;
  for await (const chunk of repository.blobStream(id)) return !(chunk as Buffer).includes(0);
  return true;
}

/**
 * The lines of a file's change with three lines of what is around it; none of a binary or large one.
 *
 * @throws Refusal 422 `diff.too_complex`
 */
export async function changedLines(
  repository: Repository,
  change: FileChange,
): Promise<readonly PatchLine[]> {
  if (change.isBinary || change.isLarge || change.oldId === change.newId) return [];
  const key = [change.oldMode, change.oldId, change.newMode, change.newId].join(" ");
  return cachedLines.get(key, async () => {
    const reader = new WindowReader({ offset: 0, limit: Number.POSITIVE_INFINITY });
    // Counted before: it fits.
    const find = () => findWindow(repository, change, { reader, bytesMax: 2 * shownBytesMax });
    return (await (isWhole(change) ? find() : diffsAtOnce.run(find))).lines;
  });
}

/** Pairs of files that git was stopped at; each part of them would take as long again. */
const givenUp = new LRUCache<string, true>({ max: 10_000, ttl: 10 * 60_000 });

/** A part of the longest lines takes 24 MiB: it is kept as well, because to find it compares the whole file. */
const cachedWindows = new Answers<LineWindow>(32 * mebibyte, ({ lines }) => bytesOf(lines), 1);
/** How many lines the diffs of pairs have: what is beyond the last one needs no comparison. */
const cachedTotals = new Answers<number>(2 * mebibyte, () => 8);

/**
 * A part of the lines of a file's change, of a large one too; none of a binary one, nor of one that git
 * does not look into. A large one is compared once for each `partLines` lines while they are cached,
 * whatever ranges are requested.
 *
 * @throws Refusal 422 `diff.too_complex`
 */
export async function changedLinesIn(
  repository: Repository,
  change: FileChange,
  range: LineRange,
): Promise<LineWindow> {
  if (!change.isLarge) return windowOf(await changedLines(repository, change), range);
  const isBeyond = (await largestSide(repository, change)) > thorough.fileBytesMax;
  if (change.isBinary || isBeyond) return windowOf([], range);
  const { oldMode, oldId, newMode, newId } = change;
  const pair = [oldMode, oldId, newMode, newId].join(" ");
  const { offset, limit } = range;
  const total = cachedTotals.peek(pair);
  if (total !== undefined && offset >= total) {
    return { lines: [], total, before: { removed: 0, added: 0 } };
  }
  return windowFrom({ offset, limit }, (at) => partFrom(repository, change, pair, at));
}

function partFrom(
  repository: Repository,
  change: FileChange,
  pair: string,
  offset: number,
): Promise<LineWindow> {
  return cachedWindows.get(`${pair} ${offset}`, () =>
    diffsAtOnce.run(async () => {
      // Others that waited for the same pair need not wait for the same end.
      if (givenUp.get(pair) !== undefined) throw tooComplex();
      try {
        const reader = new WindowReader({ offset, limit: partLines }, lineBytesMax);
        const bytesMax = Number.MAX_SAFE_INTEGER;
        const found = await findWindow(repository, change, { reader, bytesMax });
        cachedTotals.keep(pair, found.total);
        return found;
      } catch (error) {
        if (error instanceof Refusal) givenUp.set(pair, true);
        throw error;
      }
    }),
  );
}

/** All of the one side goes, and all of the other comes. */
const isWhole = ({ status, oldMode, newMode }: FileChange): boolean =>
  ["A", "D", "T"].includes(status) || [oldMode, newMode].includes(submoduleMode);

async function findWindow(
  repository: Repository,
  change: FileChange,
  { reader, bytesMax }: Readonly<{ reader: WindowReader; bytesMax: number }>,
): Promise<LineWindow> {
  const { oldMode, oldId, newMode, newId, isLarge } = change;
  if (isWhole(change)) {
    await pushSide(repository, { mode: oldMode, id: oldId, isLarge, op: "remove" }, reader);
    await pushSide(repository, { mode: newMode, id: newId, isLarge, op: "add" }, reader);
    return reader.end();
  }
  const hunks = new HunkReader();
  const take = (line: Buffer) => hunks.take(line);
  const args = [...shownAs.patch, ...patchOptions, "--end-of-options", oldId, newId] as const;
  const onStdout = (chunk: Buffer): void => reader.push(chunk, take);
  try {
    await runGit(repository.gitDir, ["diff", ...args], {
      ...limitsOf(thorough),
      bytesMax,
      onStdout,
    });
  } catch (error) {
    throw error instanceof GitFailure ? tooComplex() : error;
  }
  reader.endText(take);
  return reader.end();
}

type Side = Readonly<{ mode: string; id: string; isLarge: boolean; op: "add" | "remove" }>;

/** A file that was added or removed whole, as it streams by. */
async function pushSide(repository: Repository, side: Side, reader: WindowReader): Promise<void> {
  const { id, op } = side;
  if (isNullObjectId(id)) return;
  let count = 0;
  const take = (body: Buffer) => {
    count += 1;
    const numbers =
      op === "add" ? { added: count, removed: null } : { added: null, removed: count };
    return { type: "line", op, body, ...numbers } as const;
  };
  const breathe = breather();
  for await (const chunk of await contentOf(repository, side)) {
    await breathe();
    reader.push(chunk as Buffer, take);
  }
  if (!reader.endText(take)) reader.remark();
}

/** For a large one a git of its own is started. */
async function contentOf(repository: Repository, { mode, id, isLarge }: Side) {
  if (mode === submoduleMode) return [Buffer.from(`Subproject commit ${id}\n`)];
  if (isLarge) return repository.blobStream(id);
  return [(await repository.objects.blob(id)) ?? Buffer.alloc(0)];
}

const submoduleMode = "160000";

/** Of the two hashes git has; it knows both trees without storing them. */
export function emptyTreeOf(like: string): string {
  return like.length === 64
    ? "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
    : "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
}

function sizeOf({ headers, oldPath, newPath }: FileChange): number {
  return 400 + 4 * (oldPath.length + newPath.length) + headers.join("").length;
}
