import { newObject, writeObjects } from "./object/pack-writer.ts";
import { newCommit } from "./object/writer.ts";
import type { Repository } from "./repository.ts";
import { runGit } from "./run.ts";

/** Ids of the trees that a three-way merge looks at. */
export type MergeSides = Readonly<{ base: string; ours: string; theirs: string }>;

export type TreeMerge =
  | Readonly<{ treeId: string; conflicts?: undefined }>
  /** Paths that could not be brought together, in path order. */
  | Readonly<{ conflicts: readonly string[] }>;

const exitConflict = 1;
const nobody = "merge <merge@invalid> 0 +0000";
export const emptyTree = newObject("tree", "");

/**
 * Brings two trees together that were one; git-merge-tree(1). Renames are followed and nothing is
 * checked out. The base is given by three commits that only say it: git reads a base given by name
 * from version 2.40 on, and this works from 2.38.
 */
export async function mergeTrees(repository: Repository, sides: MergeSides): Promise<TreeMerge> {
  // Only one side did something, or both the same.
  if (sides.base === sides.theirs || sides.ours === sides.theirs) return { treeId: sides.ours };
  if (sides.base === sides.ours) return { treeId: sides.theirs };
  const said = { author: nobody, committer: nobody, message: "merge" };
  const base = newCommit({ ...said, treeId: sides.base, parentIds: [] });
  const ours = newCommit({ ...said, treeId: sides.ours, parentIds: [base.id] });
  const theirs = newCommit({ ...said, treeId: sides.theirs, parentIds: [base.id] });
  await writeObjects(repository, [emptyTree, base, ours, theirs]);
  const command = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"] as const;
  const { exitCode, stdout } = await runGit(
    repository.gitDir,
    [...command, "--end-of-options", ours.id, theirs.id],
    { okCodes: [0, exitConflict], writes: true },
  );
  const [treeId = "", ...paths] = stdout.toString().split("\0").filter(Boolean);
  return exitCode === 0 ? { treeId } : { conflicts: [...new Set(paths)].sort() };
}
