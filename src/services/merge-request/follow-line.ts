import { changedFiles, changedLines, type FileChange } from "../../git/diff/diff.ts";
import type { PatchLine } from "../../git/diff/patch.ts";
import type { Repository } from "../../git/repository.ts";
import { Refusal } from "../../platform/refusal.ts";

/** A line of a file, from 1. */
export type Place = Readonly<{ path: string; line: number }>;

/**
 * Where a line of one commit is in another: files are followed through renames, lines through what was
 * added and removed before them.
 *
 * @returns undefined when the line is gone or was changed, or the two cannot be compared within bounds
 */
export async function followLine(
  repository: Repository,
  { path, line }: Place,
  from: string,
  to: string,
): Promise<Place | undefined> {
  if (from === to) return { path, line };
  const [before, after] = await Promise.all([
    repository.objects.commit(from),
    repository.objects.commit(to),
  ]);
  if (before === undefined || after === undefined) return undefined;
  try {
    const changes = await changedFiles(repository, before.treeId, after.treeId);
    // A copy leaves the file where it was.
    const change = changes.find(
      ({ status, oldPath }) => oldPath === path && !"AC".includes(status),
    );
    if (change === undefined) return { path, line };
    return await followedIn(repository, change, line);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** Of the two sides of a comparison, each with the line as far as it has one. */
export type LinePair = Readonly<{
  oldPath: string;
  newPath: string;
  oldLine: number | null;
  newLine: number | null;
}>;

/**
 * Whether both sides are of one file, and both lines one line: unchanged, or replaced by one another. What is too
 * large to be compared passes where the paths are the same.
 */
export async function isOneLine(
  repository: Repository,
  { oldPath, newPath, oldLine, newLine }: LinePair,
  trees: Readonly<{ before: string | undefined; after: string }>,
): Promise<boolean> {
  try {
    const changes = await changedFiles(repository, trees.before, trees.after);
    const change = changes.find((one) => one.oldPath === oldPath && one.newPath === newPath);
    if (change === undefined && oldPath !== newPath) return false;
    if (oldLine === null || newLine === null) return true;
    if (change === undefined || change.oldId === change.newId) return oldLine === newLine;
    if (change.isBinary || change.isLarge) return change.isLarge;
    const patch = await changedLines(repository, change);
    return movedLine(patch, oldLine) === newLine || isReplaced(patch, oldLine, newLine);
  } catch (error) {
    if (error instanceof Refusal) return oldPath === newPath;
    throw error;
  }
}

async function followedIn(
  repository: Repository,
  change: FileChange,
  line: number,
): Promise<Place | undefined> {
  if (change.status === "D") return undefined;
  const path = change.newPath;
  if (change.oldId === change.newId) return { path, line };
  if (change.isBinary || change.isLarge) return undefined;
  const moved = movedLine(await changedLines(repository, change), line);
  return moved === undefined ? undefined : { path, line: moved };
}

/** The number that a line has after a patch; undefined when the patch removes it. */
export function movedLine(patch: readonly PatchLine[], line: number): number | undefined {
  let offset = 0;
  for (const { op, added, removed } of patch) {
    if (op === "remove") {
      if (removed === line) return undefined;
      if ((removed ?? 0) < line) offset -= 1;
    } else if (op === "add") {
      // It stands before the line when the old lines that follow it in the patch do.
      if ((added ?? 0) <= line + offset) offset += 1;
    }
  }
  return line + offset;
}

/** Whether a patch removes one line and adds the other without anything in between that stays. */
function isReplaced(patch: readonly PatchLine[], oldLine: number, newLine: number): boolean {
  let [block, removedIn, addedIn] = [0, -1, -2];
  for (const { op, added, removed } of patch) {
    if (op === "remove") removedIn = removed === oldLine ? block : removedIn;
    else if (op === "add") addedIn = added === newLine ? block : addedIn;
    else block += 1;
  }
  return removedIn === addedIn;
}
