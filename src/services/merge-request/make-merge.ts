import type { MergeStrategy } from "../../events/merge-request/merge-setting.ts";
import { mergeCommits } from "../../git/merge-commits.ts";
import { emptyTree, mergeTrees } from "../../git/merge-tree.ts";
import { looseObject, writeLooseObjects } from "../../git/object/loose.ts";
import type { Commit } from "../../git/object/object.ts";
import { type NewObject, writeObjects } from "../../git/object/pack-writer.ts";
import { newCommit, sameIdentLine } from "../../git/object/writer.ts";
import type { Repository } from "../../git/repository.ts";
import { runGit } from "../../git/run.ts";
import { Refusal } from "../../platform/refusal.ts";
import { compareHeads } from "./compare.ts";

type Conflicts = Readonly<{ conflicts: readonly string[]; conflictsCount: number }>;

/** More commits than this are rebased in a clone. */
const rebasedMax = 200;

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
  const { strategy, targetHead, sourceCommit } = making;
  const { holds, isAhead } = await relationOf(making);
  if (holds) throw nothing();
  switch (strategy) {
    case "MERGE_COMMIT":
      return commitOf(making, await mergedTree(making), [targetHead, sourceCommit]);
    case "SQUASH":
      return squash(making);
    case "FAST_FORWARD":
      if (isAhead) return sourceCommit;
      throw notFastForward();
    case "REBASE":
      return isAhead ? sourceCommit : rebase(making);
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
  if (treeId === (await mustRead(repository, targetHead)).treeId) throw nothing();
  return commitOf(making, treeId, [targetHead]);
}

async function mergedTree({ repository, targetHead, sourceCommit }: Making): Promise<string> {
  const merged = await mergeCommits(repository, { ours: targetHead, theirs: sourceCommit });
  if (merged.conflicts !== undefined) throw inConflict(merged);
  return merged.treeId;
}

async function commitOf(
  { repository, author, committer, message }: Making,
  treeId: string,
  parentIds: readonly string[],
): Promise<string> {
  const commit = newCommit({ treeId, parentIds, author, committer, message: await message() });
  // Git made its tree, and it has read its parents.
  await writeLooseObjects(repository, [await looseObject(commit)]);
  return commit.id;
}

/** As git-rebase(1): merges among the commits and commits that change nothing any more are left out. */
async function rebase(making: Making): Promise<string> {
  const { repository, targetHead, committer } = making;
  let parentId = targetHead;
  let treeId = (await mustRead(repository, targetHead)).treeId;
  const made: NewObject[] = [];
  // All of its merges together have the time of one.
  let spentMs = 0;
  for (const id of await commitsToRebase(making)) {
    const commit = await mustRead(repository, id);
    const [first] = commit.parentIds;
    const base = first === undefined ? emptyTree.id : (await mustRead(repository, first)).treeId;
    const sides = { base, ours: treeId, theirs: commit.treeId };
    const merged = await mergeTrees(repository, sides, { spentMs });
    spentMs += merged.tookMs;
    if (merged.conflicts !== undefined) throw inConflict(merged);
    if (merged.treeId === treeId) continue;
    treeId = merged.treeId;
    const author = sameIdentLine(commit.author);
    const again = newCommit({
      treeId,
      parentIds: [parentId],
      author,
      committer,
      message: messageOf(commit),
    });
    made.push(again);
    parentId = again.id;
  }
  if (made.length === 0) throw nothing();
  await writeObjects(repository, made);
  return parentId;
}

async function commitsToRebase({
  repository,
  targetHead,
  sourceCommit,
}: Making): Promise<readonly string[]> {
  const { stdout } = await runGit(repository.gitDir, [
    "rev-list",
    ...["--reverse", "--topo-order", "--no-merges", `--max-count=${rebasedMax + 1}`],
    ...["--end-of-options", sourceCommit, `^${targetHead}`, "--"],
  ]);
  const ids = stdout.toString("latin1").split("\n").filter(Boolean);
  if (ids.length <= rebasedMax) return ids;
  const message = `At most ${rebasedMax} commits are rebased here. Rebase in a clone.`;
  throw new Refusal("unprocessable", "merge.too_many_commits", message);
}

/** @throws Refusal 422 `commit.message_too_long` */
function messageOf({ message, isWhole }: Commit): string {
  if (isWhole) return message;
  const refused = "A commit's message is too long to be made again here. Rebase in a clone.";
  throw new Refusal("unprocessable", "commit.message_too_long", refused);
}

async function mustRead({ objects }: Repository, id: string): Promise<Commit> {
  const commit = await objects.commit(id);
  if (commit !== undefined) return commit;
  const message = `The commit ${id} is too large to be worked with here.`;
  throw new Refusal("unprocessable", "commit.too_large", message);
}

export function inConflict({ conflicts, conflictsCount }: Conflicts): Refusal {
  const message =
    "The branches conflict: both changed the same lines. Resolve it in a clone and push.";
  const extra = { files: conflicts, filesCount: conflictsCount };
  return new Refusal("conflict", "merge.conflict", message, { extra });
}

function notFastForward(): Refusal {
  const message = "The target branch has commits that the source has not: it cannot fast-forward.";
  return new Refusal("conflict", "merge.not_fast_forward", message);
}

function nothing(): Refusal {
  const message = "The target branch already has everything that the source has.";
  return new Refusal("unprocessable", "merge.nothing", message);
}
