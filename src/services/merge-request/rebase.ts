import { Answers } from "../../git/answers.ts";
import { mergeFailure } from "../../git/merge-failure.ts";
import { emptyTree, mergeTrees } from "../../git/merge-tree.ts";
import type { Commit } from "../../git/object/object.ts";
import { type NewObject, writeObjects } from "../../git/object/pack-writer.ts";
import { newCommit, sameIdentLine } from "../../git/object/writer.ts";
import type { Repository } from "../../git/repository.ts";
import { runGit } from "../../git/run.ts";
import { inScratch } from "../../git/scratch.ts";
import { Refusal } from "../../platform/refusal.ts";

type Conflicts = Readonly<{ conflicts: readonly string[]; conflictsCount: number }>;

/** More commits than this are rebased in a clone. */
const rebasedMax = 200;
const nobody = "rebase <rebase@invalid> 0 +0000";

type Heads = Readonly<{ targetHead: string; sourceCommit: string }>;

export type Rebasing = Heads &
  Readonly<{
    repository: Repository;
    /** Where what is made is written: it reads what the repository has. */
    into: Pick<Repository, "gitDir">;
    /** A line of `identLine`. */
    committer: string;
  }>;

type Tried = Readonly<{ obstacle: Refusal | undefined }>;
const tried = new Answers<Tried>(1024 ** 2, () => 500);

/**
 * Why a rebase would be refused; undefined: it would not. Leaves nothing in the repository, and is remembered by the pair.
 *
 * @throws Refusal 503 `merge.unavailable`; GitFailure when an object cannot be read
 */
export async function rebaseObstacle(
  repository: Repository,
  heads: Heads,
): Promise<Refusal | undefined> {
  const key = `${heads.targetHead} ${heads.sourceCommit}`;
  const { obstacle } = await tried.get(key, () =>
    inScratch(repository, async (into): Promise<Tried> => {
      try {
        await rebase({ ...heads, repository, into, committer: nobody });
        return { obstacle: undefined };
      } catch (error) {
        if (error instanceof Refusal && error.kind !== "unavailable") return { obstacle: error };
        throw mergeFailure(error);
      }
    }),
  );
  return obstacle;
}

/**
 * As git-rebase(1): merges among the commits and commits that change nothing any more are left out; those that never
 * changed anything are kept.
 */
export async function rebase(rebasing: Rebasing): Promise<string> {
  const { repository, into, targetHead, committer } = rebasing;
  let parentId = targetHead;
  let treeId = (await mustReadCommit(repository, targetHead)).treeId;
  const made: NewObject[] = [];
  // All of its merges together have the time of one.
  let spentMs = 0;
  for (const id of await commitsToRebase(rebasing)) {
    const commit = await mustReadCommit(repository, id);
    const [first] = commit.parentIds;
    const base =
      first === undefined ? emptyTree.id : (await mustReadCommit(repository, first)).treeId;
    const sides = { base, ours: treeId, theirs: commit.treeId };
    const merged = await mergeTrees(into, sides, { spentMs });
    spentMs += merged.tookMs;
    if (merged.conflicts !== undefined) throw inConflict(merged);
    const wasEmpty = commit.treeId === base;
    if (merged.treeId === treeId && !wasEmpty) continue;
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
  if (made.length === 0) throw nothingToMerge();
  await writeObjects(into, made);
  return parentId;
}

async function commitsToRebase({
  repository,
  targetHead,
  sourceCommit,
}: Rebasing): Promise<readonly string[]> {
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

/** @throws Refusal 422 `commit.too_large` */
export async function mustReadCommit({ objects }: Repository, id: string): Promise<Commit> {
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

export function nothingToMerge(): Refusal {
  const message = "The target branch already has everything that the source has.";
  return new Refusal("unprocessable", "merge.nothing", message);
}
