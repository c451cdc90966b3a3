import { mkdtemp, rm } from "node:fs/promises";
import path from "node:path";

import { Answers } from "./answers.ts";
import {
  type MergeLimits,
  type MergeOutcome,
  mergeLimits,
  type Refused,
  runMerge,
  withinLimits,
} from "./merge-run.ts";
import { type LooseObject, looseObjectsIn, writeLooseObjects } from "./object/loose.ts";
import type { Repository } from "./repository.ts";

/** The two heads to be brought together; the base is what their histories share. */
export type MergeHeads = Readonly<{ ours: string; theirs: string }>;

/** What a merge in thought added to a repository, so that the merge itself need not be made again. */
type Draft = Readonly<{ gitDir: string; objects: readonly LooseObject[] }>;
type Tried = Readonly<{ merge: MergeOutcome | Refused; draft?: Draft | undefined }>;

/** Where outcomes are kept beyond this process. */
export type KeptMerges = Readonly<{
  find: (heads: MergeHeads) => Promise<MergeOutcome | undefined>;
  keep: (heads: MergeHeads, merge: MergeOutcome) => Promise<void>;
}>;

const mebibyte = 1024 ** 2;

/** Most merges add a few directories and some files that both sides changed. */
const draftMax = { objects: 64, bytes: 64 * 1024 };

/** That a pair is too much is kept as well: it takes the longest to find out. */
const checked = new Answers<Tried>(32 * mebibyte, ({ merge, draft }) =>
  "refused" in merge ? 100 : sizeOf(merge) + draftSize(draft),
);

const sizeOf = ({ conflicts = [] }: MergeOutcome): number =>
  conflicts.reduce((sum, { length }) => sum + 2 * length + 50, 100);

const draftSize = (draft: Draft | undefined): number =>
  draft?.objects.reduce((sum, { file }) => sum + file.length + 250, 250) ?? 0;

/**
 * Finds out how two commits merge, writing nothing into the repository; see git-merge-tree(1). Renames are
 * followed. Remembered by the pair, in this process and in `kept`.
 *
 * @throws Refusal 422 `merge.too_complex`, 503 `merge.unavailable`; GitFailure when an object cannot be read
 */
export async function checkMerge(
  repository: Repository,
  heads: MergeHeads,
  kept?: KeptMerges,
  limits: MergeLimits = mergeLimits,
): Promise<MergeOutcome> {
  const { merge } = await checked.get(keyOf(heads), async () => {
    const known = await kept?.find(heads);
    if (known !== undefined) return { merge: known };
    const tried = await tryMerge(repository, heads, limits);
    // A limit of time or memory may be the machine's of that moment: not kept for others.
    if (!("refused" in tried.merge)) await kept?.keep(heads, tried.merge);
    return tried;
  });
  return withinLimits(merge, limits);
}

const keyOf = ({ ours, theirs }: MergeHeads): string => `${ours} ${theirs}`;

/** Merges into a directory of objects that is thrown away. */
async function tryMerge(
  repository: Repository,
  heads: MergeHeads,
  limits: MergeLimits,
): Promise<Tried> {
  const objects = path.join(repository.gitDir, "objects");
  // Upkeep removes what a process that died left under such a name.
  const draft = await mkdtemp(path.join(objects, "tmp_merge-"));
  const env = { GIT_OBJECT_DIRECTORY: draft, GIT_ALTERNATE_OBJECT_DIRECTORIES: objects };
  const settings = { "core.fsync": "none" };
  try {
    const { outcome: merge } = await runMerge(repository.gitDir, heads, {
      ...limits,
      env,
      settings,
    });
    if (!("treeId" in merge)) return { merge };
    const objects = await looseObjectsIn(draft, draftMax);
    return { merge, draft: objects && { gitDir: repository.gitDir, objects } };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/**
 * Merges two commits, leaving the merged tree in the repository. What a check of the same pair made in this process
 * is put there as it is.
 *
 * @throws as `checkMerge`
 */
export async function mergeCommits(
  repository: Repository,
  heads: MergeHeads,
  limits: MergeLimits = mergeLimits,
): Promise<MergeOutcome> {
  const { merge, draft } = checked.peek(keyOf(heads)) ?? {};
  // Of a fork, the objects that the other repository had already may not be here.
  if (merge !== undefined && "treeId" in merge && draft?.gitDir === repository.gitDir) {
    await writeLooseObjects(repository, draft.objects);
    return merge;
  }
  const { outcome } = await runMerge(repository.gitDir, heads, limits);
  return withinLimits(outcome, limits);
}
