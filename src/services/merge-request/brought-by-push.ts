import type { Knex } from "knex";

import { branchPrefix } from "../../events/repository/repository.ts";
import { hasSameChanges } from "../../git/cherry.ts";
import { checkMerge } from "../../git/merge-commits.ts";
import { looseObject, writeLooseObjects } from "../../git/object/loose.ts";
import { newCommit } from "../../git/object/writer.ts";
import type { Repository } from "../../git/repository.ts";
import { runGit } from "../../git/run.ts";
import { Refusal } from "../../platform/refusal.ts";
import { mergeChecks } from "../../projections/merge-request/merge-check.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { headBeforePush } from "../../projections/repository/git-ref.ts";
import { compareHeads } from "./compare.ts";

/** A push that moved the target branch of requests. */
export type TargetPush = Readonly<{
  /** The same for all branches of the push. */
  pushId: string;
  /** Of the change within the repository's stream. */
  revision: bigint;
  at: Date;
  before: string;
  after: string;
}>;

const chainMax = 10_000;
const nobody = "squash <squash@invalid> 0 +0000";

/**
 * The commit by which a push brought to the target what the source of a request had: its commits, each of their
 * changes, or all of them in one commit. Undefined where it did not, or had before; also where the source was moved to
 * what the push brought, or has other commits by now.
 */
export async function broughtBy(
  db: Knex,
  repository: Repository,
  row: MergeRequestRow,
  push: TargetPush,
): Promise<string | undefined> {
  const { before, after } = push;
  const source = await sourceAt(db, repository, row, push);
  const isNewest = source === row.source_commit;
  if (!isNewest && !(await repository.isAncestor(row.source_commit, after))) return undefined;
  if (await repository.isAncestor(source, before)) return undefined;
  const contains = (commit: string) => repository.isAncestor(source, commit);
  if (await contains(after)) return firstOf(await chainOf(repository, push), contains);
  try {
    return await broughtOtherwise(db, repository, row.project_id, { ...push, source });
  } catch (error) {
    // Too large for a comparison, so it is not known.
    if (error instanceof Refusal && error.kind === "unprocessable") return undefined;
    throw error;
  }
}

/** What the source was when the push came: a source that was moved in the same push, or later, may be the target itself. */
async function sourceAt(
  db: Knex,
  repository: Repository,
  row: MergeRequestRow,
  { pushId, revision, at }: TargetPush,
): Promise<string> {
  const { source_project_id: projectId, source_branch: branch, source_commit: newest } = row;
  const isOwn = projectId === row.project_id;
  const then = isOwn ? { revision } : { at };
  const ref = branchPrefix + branch;
  const head = await headBeforePush(db, projectId, ref, { pushId, ...then });
  // Gone by then, or never brought into the target: the last version that it has counts.
  if (head == null || (await repository.objects.info(head)) === undefined) return newest;
  return head;
}

type Pushed = TargetPush & Readonly<{ source: string }>;

/** By commits of other ids. */
async function broughtOtherwise(
  db: Knex,
  repository: Repository,
  projectId: string,
  push: Pushed,
): Promise<string | undefined> {
  const { before, after, source } = push;
  const kept = mergeChecks(db, projectId);
  const treeOf = async (id: string) => (await repository.objects.commit(id))?.treeId;
  const merged = await checkMerge(repository, { ours: after, theirs: source }, kept);
  // A merge would still bring something.
  if (merged.conflicts === undefined && merged.treeId !== (await treeOf(after))) return undefined;
  const { baseId, baseTree, sourceTree } = await compareHeads(repository, before, source);
  // Commits that change nothing have no patch to be known by: all of them look the same.
  if (baseTree === sourceTree) return undefined;
  const squash = baseId === null ? undefined : await squashed(repository, baseId, sourceTree);
  for (const head of squash === undefined ? [source] : [source, squash]) {
    const isIn = async (upstream: string) =>
      (await hasSameChanges(repository, { upstream, head, before })) === true;
    if ((await isIn(after)) && !(await isIn(before))) {
      return firstOf(await chainOf(repository, push), isIn);
    }
  }
  const wanted = await checkMerge(repository, { ours: before, theirs: source }, kept);
  const made = await treeOf(after);
  const isSame = wanted.conflicts === undefined && wanted.treeId === made;
  return isSame && made !== (await treeOf(before)) ? after : undefined;
}

/** A commit that no ref leads to: what the source changes, in one. The same each time. */
async function squashed(
  repository: Repository,
  baseId: string,
  sourceTree: string,
): Promise<string> {
  const by = { author: nobody, committer: nobody, message: "squash" };
  const commit = newCommit({ treeId: sourceTree, parentIds: [baseId], ...by });
  await writeLooseObjects(repository, [await looseObject(commit)]);
  return commit.id;
}

/** Where the target was one after the other in the course of the push, oldest first. */
async function chainOf(
  { gitDir }: Repository,
  { before, after }: TargetPush,
): Promise<readonly string[]> {
  const options = ["--first-parent", "--reverse", `--max-count=${chainMax}`];
  const range = ["--end-of-options", after, `^${before}`, "--"];
  const { stdout } = await runGit(gitDir, ["rev-list", ...options, ...range]);
  return stdout.toString("latin1").split("\n").filter(Boolean);
}

/** The first commit of which something holds that holds of all after it, and of the last. */
async function firstOf(
  chain: readonly string[],
  holds: (commit: string) => Promise<boolean>,
): Promise<string | undefined> {
  let [low, high] = [0, chain.length - 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await holds(chain[middle] ?? "")) high = middle;
    else low = middle + 1;
  }
  return chain[low];
}
