import type { Commit } from "../object/object.ts";
import type { Repository } from "../repository.ts";
import { runGit } from "../run.ts";
import { compareTrees } from "../tree-walk.ts";

/** Commits examined: a file whose last commit lies beyond them gets none. */
const commitsMax = 200;
/** Of one commit; one that changed more is passed over. */
const limits = {
  filesMax: 2_000,
  treesMax: 2_000,
  bytesMax: 4 * 1024 ** 2,
  pathBytesMax: 4_096,
};

/**
 * Of each path the last commit that touched it among those that `after` holds and `before` does not.
 * A merge touched what it has differently from each of its parents.
 */
export async function lastTouched(
  repository: Repository,
  before: string,
  after: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, Commit>> {
  const found = new Map<string, Commit>();
  const wanted = new Set(paths);
  const args = [`--max-count=${commitsMax}`, "--end-of-options", after, `^${before}`, "--"];
  const { stdout } = await runGit(repository.gitDir, ["rev-list", ...args]);
  for (const id of stdout.toString("latin1").split("\n").filter(Boolean)) {
    if (wanted.size === 0) break;
    const commit = await repository.objects.commit(id);
    if (commit === undefined) continue;
    for (const path of await touchedBy(repository, commit)) {
      if (wanted.delete(path)) found.set(path, commit);
    }
  }
  return found;
}

async function touchedBy(
  { objects }: Repository,
  { treeId, parentIds }: Commit,
): Promise<ReadonlySet<string>> {
  const parents = await Promise.all(parentIds.map((id) => objects.commit(id)));
  const trees = parents.length === 0 ? [undefined] : parents.map((parent) => parent?.treeId);
  let touched: ReadonlySet<string> | undefined;
  for (const before of trees) {
    const changes = await compareTrees(objects, { before, after: treeId }, limits).catch(() => []);
    const paths = new Set(changes.map(({ path }) => path));
    touched =
      touched === undefined ? paths : new Set([...touched].filter((path) => paths.has(path)));
  }
  return touched ?? new Set();
}
