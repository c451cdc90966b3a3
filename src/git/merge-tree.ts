import {
  type MergeLimits,
  type MergeOutcome,
  mergeLimits,
  runMerge,
  withinLimits,
} from "./merge-run.ts";
import { newObject, writeObjects } from "./object/pack-writer.ts";
import { newCommit } from "./object/writer.ts";
import type { Repository } from "./repository.ts";

/** Ids of the trees that a three-way merge reads. */
export type MergeSides = Readonly<{ base: string; ours: string; theirs: string }>;

/** `tookMs`: how long git took, without the time that it waited for other merges. */
export type TreeMerge = MergeOutcome & Readonly<{ tookMs: number }>;

type MergeTime = Readonly<{
  /** What of the time earlier merges for the same answer took. */
  spentMs?: number;
  limits?: MergeLimits;
}>;

const nobody = "merge <merge@invalid> 0 +0000";
export const emptyTree = newObject("tree", "");

/**
 * Brings two trees together that were one; git-merge-tree(1). Renames are followed and nothing is
 * checked out. The base is given by three commits that only say it: git reads a base given by name
 * from version 2.40 on, and this works from 2.38.
 *
 * @throws Refusal 422 `merge.too_complex`, 503 `merge.unavailable`; GitFailure when an object cannot be read
 */
export async function mergeTrees(
  repository: Pick<Repository, "gitDir">,
  sides: MergeSides,
  { spentMs = 0, limits = mergeLimits }: MergeTime = {},
): Promise<TreeMerge> {
  // Only one side did something, or both the same.
  const took = { tookMs: 0 };
  if (sides.base === sides.theirs || sides.ours === sides.theirs) {
    return { treeId: sides.ours, ...took };
  }
  if (sides.base === sides.ours) return { treeId: sides.theirs, ...took };
  const timeoutMs = Math.ceil(limits.timeoutMs - spentMs);
  if (timeoutMs <= 0) withinLimits({ refused: "time" }, limits);
  const commit = { author: nobody, committer: nobody, message: "merge" };
  const base = newCommit({ ...commit, treeId: sides.base, parentIds: [] });
  const ours = newCommit({ ...commit, treeId: sides.ours, parentIds: [base.id] });
  const theirs = newCommit({ ...commit, treeId: sides.theirs, parentIds: [base.id] });
  await writeObjects(repository, [emptyTree, base, ours, theirs]);
  const heads = { ours: ours.id, theirs: theirs.id };
  const { outcome, tookMs } = await runMerge(repository.gitDir, heads, { ...limits, timeoutMs });
  return { ...withinLimits(outcome, limits), tookMs };
}
