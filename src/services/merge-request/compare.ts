import { Answers } from "../../git/answers.ts";
import { mergeBase } from "../../git/history.ts";
import type { Repository } from "../../git/repository.ts";
import { compareTrees, treeLimits } from "../../git/tree-walk.ts";
import { Refusal } from "../../platform/refusal.ts";

/** What the source of a request brings to its target, as ids and paths. */
export type Comparison = Readonly<{
  /** Commit that both grew from; null: they share no history. */
  baseId: string | null;
  /** Of the base, and of the source. */
  baseTree: string | undefined;
  sourceTree: string;
  /** Files that the source changed since; undefined: more than can be compared. */
  paths: readonly string[] | undefined;
}>;

const mebibyte = 1024 ** 2;
const limits = { ...treeLimits, filesMax: 100_000 };

const kept = new Answers<Comparison>(32 * mebibyte, ({ paths = [] }) =>
  paths.reduce((sum, path) => sum + 2 * path.length + 50, 400),
);

/**
 * Remembered by the pair.
 *
 * @throws Refusal 422 `commit.too_large`, `history.too_complex`
 */
export function compareHeads(
  repository: Repository,
  targetHead: string,
  sourceCommit: string,
): Promise<Comparison> {
  return kept.get(`${targetHead} ${sourceCommit}`, async () => {
    const baseId = await mergeBase(repository, targetHead, sourceCommit);
    const baseTree = baseId === null ? undefined : await treeOf(repository, baseId);
    const sourceTree = await treeOf(repository, sourceCommit);
    const trees = { before: baseTree, after: sourceTree };
    const changes = await compareTrees(repository.objects, trees, limits).catch(noneIfTooMany);
    return { baseId, baseTree, sourceTree, paths: changes?.map(({ path }) => path).sort() };
  });
}

async function treeOf({ objects }: Repository, id: string): Promise<string> {
  const commit = await objects.commit(id);
  if (commit !== undefined) return commit.treeId;
  const message = `The commit ${id} is too large to be looked into.`;
  throw new Refusal("unprocessable", "commit.too_large", message);
}

function noneIfTooMany(error: unknown): undefined {
  if (error instanceof Refusal && error.code === "diff.too_large") return undefined;
  throw error;
}
