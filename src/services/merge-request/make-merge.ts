import type { MergeStrategy } from "../../events/merge-request/merge-setting.ts";
import { mergeCommits } from "../../git/merge-commits.ts";
import { looseObject, writeLooseObjects } from "../../git/object/loose.ts";
import { newCommit } from "../../git/object/writer.ts";
import type { Repository } from "../../git/repository.ts";
import { Refusal } from "../../platform/refusal.ts";
import { compareHeads } from "./compare.ts";
import { inConflict, mustReadCommit, nothingToMerge, rebase, rebaseObstacle } from "./rebase.ts";

export type Making = Readonly<{
  repository: Repository;
  strategy: MergeStrategy;
  targetHead: string;
  sourceCommit: string;
  /** Lines of `identLine`: who opened the request, and who merges it. */
  author: string;
  committer: string;
  /** Of the commit that a merge or a squash makes. */
  message: () => Promise<string>;
}>;

/**
 * Makes what the target branch is to be moved to; no ref leads to it yet. The same commits give the same tree,
 * so an attempt that is made again does no harm.
 *
 * @returns id of a commit that contains the target's head
 * @throws Refusal 409 `merge.conflict` with the files, 409 `merge.not_fast_forward`; 422 `merge.nothing`,
 *   `merge.too_many_commits`, `merge.too_complex`
 */
export async function makeMerge(making: Making): Promise<string> {
  const { strategy, sourceCommit } = making;
  const { holds, isAhead } = await relationOf(making);
  if (holds) throw nothingToMerge();
  switch (strategy) {
    case "MERGE_COMMIT":
      return mergeCommitOf(making);
    case "SQUASH":
      return squash(making);
    case "FAST_FORWARD":
      if (isAhead) return sourceCommit;
      throw notFastForward();
    case "REBASE":
      return isAhead ? sourceCommit : rebase({ ...making, into: making.repository });
  }
}

/** What `makeMerge` would be given, of heads that were compared and merged in thought. */
export type Trying = Pick<Making, "repository" | "strategy" | "targetHead" | "sourceCommit"> &
  Readonly<{
    /** Commit that both heads grew from. */
    baseId: string | null;
    /** What they merge to; undefined: they conflict. */
    treeId: string | undefined;
  }>;

/**
 * Why `makeMerge` would refuse two heads, beside a conflict of both; undefined: it would not. Leaves nothing in the
 * repository.
 */
export async function obstacleOf(trying: Trying): Promise<Refusal | undefined> {
  const { repository, strategy, targetHead, sourceCommit, baseId, treeId } = trying;
  if (baseId === sourceCommit) return nothingToMerge();
  const isAhead = baseId === targetHead;
  switch (strategy) {
    case "MERGE_COMMIT":
      return undefined;
    case "SQUASH":
      return treeId === (await mustReadCommit(repository, targetHead)).treeId
        ? nothingToMerge()
        : undefined;
    case "FAST_FORWARD":
      return isAhead ? undefined : notFastForward();
    case "REBASE":
      if (isAhead || treeId === undefined) return undefined;
      return rebaseObstacle(repository, { targetHead, sourceCommit });
  }
}

/** Whether the target has the source already, and the source the target. */
async function relationOf({ repository, targetHead, sourceCommit }: Making) {
  try {
    // The judge has compared the same pair a moment ago.
    const { baseId } = await compareHeads(repository, targetHead, sourceCommit);
    return { holds: baseId === sourceCommit, isAhead: baseId === targetHead };
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== "history.too_complex") throw error;
    const holds = await repository.isAncestor(sourceCommit, targetHead);
    return { holds, isAhead: !holds && (await repository.isAncestor(targetHead, sourceCommit)) };
  }
}

async function squash(making: Making): Promise<string> {
  const { repository, targetHead } = making;
  const treeId = await mergedTree(making);
  if (treeId === (await mustReadCommit(repository, targetHead)).treeId) throw nothingToMerge();
  return commitOf(making, treeId, [targetHead]);
}

/**
 * The commit that merges the source into the target; see `makeMerge`.
 *
 * @throws Refusal 409 `merge.conflict`, 422 `merge.too_complex`
 */
export async function mergeCommitOf(making: Omit<Making, "strategy">): Promise<string> {
  const { targetHead, sourceCommit } = making;
  return commitOf(making, await mergedTree(making), [targetHead, sourceCommit]);
}

async function mergedTree({
  repository,
  targetHead,
  sourceCommit,
}: Omit<Making, "strategy">): Promise<string> {
  const merged = await mergeCommits(repository, { ours: targetHead, theirs: sourceCommit });
  if (merged.conflicts !== undefined) throw inConflict(merged);
  return merged.treeId;
}

async function commitOf(
  { repository, author, committer, message }: Omit<Making, "strategy">,
  treeId: string,
  parentIds: readonly string[],
): Promise<string> {
  const commit = newCommit({ treeId, parentIds, author, committer, message: await message() });
  // Git made its tree, and it has read its parents.
  await writeLooseObjects(repository, [await looseObject(commit)]);
  return commit.id;
}

function notFastForward(): Refusal {
  const message = "The target branch has commits that the source has not: it cannot fast-forward.";
  return new Refusal("conflict", "merge.not_fast_forward", message);
}
