import { changedMeanwhile } from "../../commands/merge-request/merge-request.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import type { ObjectId, UserId } from "../../events/core/ids.ts";
import type { Role } from "../../events/core/role.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import { isFinalFailure, mergeFailure } from "../../git/merge-failure.ts";
import { identLine } from "../../git/object/writer.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { reaches } from "../../projections/protection/applicable.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import { accountIdent } from "../../projections/user/commit-author.ts";
import {
  changedEarlier,
  changeRefs,
  mustBeAllowed,
  type RefChangeDeps,
} from "../git/ref-change.ts";
import { bringSource } from "./bring-source.ts";
import { compareHeads } from "./compare.ts";
import { mergeCommitOf } from "./make-merge.ts";
import { mergeFailed, notOpen } from "./merge-refusal.ts";
import { rebase } from "./rebase.ts";
import { withNewestSource } from "./source.ts";
import type { SourceDeps } from "./source-subject.ts";

type RenewDeps = RefChangeDeps & SourceDeps;

export type RenewOrder = Readonly<{
  /** The target of the request. */
  project: ProjectRow;
  userId: UserId;
  /** The same command is carried out once. */
  metadata: EventMetadata;
  /** Only while this is the head of the source. */
  seen?: ObjectId | undefined;
  /** REBASE makes the commits of the source again on the target, MERGE merges the target into the source. */
  way: "REBASE" | "MERGE";
}>;

type Source = Readonly<{ project: ProjectRow; role: Role }>;

/**
 * Brings the source branch of an open request up to date with its target, as a push of the caller would. A source that
 * has all of the target stays as it is.
 *
 * @throws Refusal 403 `auth.role_missing`, `branch.protected`; 404 `branch.not_found`; 409 `merge.conflict` with the
 *   files, `merge_request.changed`, `branch.moved`, `lfs_lock.of_others`; 422 `merge.nothing`, `merge.too_many_commits`,
 *   `merge.too_complex`, `merge_request.closed`, `merge_request.final`; 503 `merge.unavailable`
 */
export async function renewSource(
  deps: RenewDeps,
  found: MergeRequestRow,
  order: RenewOrder,
): Promise<void> {
  const { metadata, seen } = order;
  const source = await mustPush(deps, found, order);
  const earlier = await changedEarlier(deps, { project: source.project, metadata });
  const row = await withNewestSource(deps, found);
  if (earlier.refs.size > 0) return;
  const over = notOpen(row.status);
  if (over !== undefined) throw over;
  if (seen !== undefined && seen !== row.source_commit) throw changedMeanwhile();
  const branch = await mustFindBranch(deps, source.project.id, row.source_branch);
  // The target takes no newer version of this source.
  if (branch !== row.source_commit) throw changedMeanwhile();
  const renewed = await renewedHead(deps, row, source, order);
  if (renewed === row.source_commit) return;
  const sourceCommit = renewed as ObjectId;
  const brought = {
    sourceProjectId: order.project.id,
    target: source.project,
    authorId: order.userId,
    sourceCommit,
  };
  await bringSource(deps, brought, metadata, {
    open: async () => undefined,
    keep: async () => (await move(deps, row, order, renewed)).position,
  });
  await withNewestSource(deps, row);
}

async function move(
  deps: RenewDeps,
  row: MergeRequestRow,
  order: RenewOrder,
  after: string,
): ReturnType<typeof changeRefs> {
  // The work may have taken long.
  const { project, role } = await mustPush(deps, row, order);
  const ref = branchPrefix + row.source_branch;
  const plan = async () => [{ ref, before: row.source_commit, after }];
  return changeRefs(deps, { project, role, metadata: order.metadata, plan });
}

/** The source, and what a user is there who may push to it. */
export async function sourceToPush(
  { db }: Pick<RenewDeps, "db">,
  { source_project_id: id }: MergeRequestRow,
  { userId }: Pick<RenewOrder, "userId">,
): Promise<Source | undefined> {
  const project = await findProjectById(db, id);
  const role = project && (await actingRole(db, project, userId));
  const isPusher = project !== undefined && role !== undefined && reaches(role, "DEVELOPER");
  return isPusher ? { project, role } : undefined;
}

/** @throws Refusal 403 for who may not push to the source */
async function mustPush(
  deps: Pick<RenewDeps, "db">,
  row: MergeRequestRow,
  order: Pick<RenewOrder, "userId">,
): Promise<Source> {
  const source = await sourceToPush(deps, row, order);
  if (source !== undefined) return source;
  const message = "This needs the role DEVELOPER in the project of the source branch.";
  throw new Refusal("forbidden", "auth.role_missing", message, { extra: { role: "DEVELOPER" } });
}

async function mustFindBranch(
  { db }: Pick<RenewDeps, "db">,
  projectId: string,
  name: string,
): Promise<string> {
  const ref = await findRef(db, projectId, "branch", name);
  if (ref !== undefined) return ref.object_id;
  throw new Refusal("not_found", "branch.not_found", `There is no branch ${name}.`);
}

/** Where the source shall stand. What is made is in the repository of the target, and no ref leads to it. */
async function renewedHead(
  deps: RenewDeps,
  row: MergeRequestRow,
  source: Source,
  { project, userId, way }: RenewOrder,
): Promise<string> {
  const { source_commit: sourceCommit, source_branch, target_branch } = row;
  const targetHead = await mustFindBranch(deps, project.id, target_branch);
  const repository = await deps.git.ensure(project.id, project.default_branch);
  const own = await deps.git.ensure(source.project.id, source.project.default_branch);
  const { baseId } = await compareHeads(repository, targetHead, sourceCommit);
  if (baseId === targetHead) return sourceCommit;
  const ref = branchPrefix + source_branch;
  // A rebase forces the branch. What may not be done is refused before anything is made in the repository of the target.
  const after = way === "REBASE" ? targetHead : sourceCommit;
  const check = { ref, before: sourceCommit, after };
  await mustBeAllowed(deps, source, own, [check]);
  if (baseId === sourceCommit) return targetHead;
  const committer = identLine(await accountIdent(deps.db, userId), deps.now());
  try {
    if (way === "REBASE") {
      return await rebase({ repository, into: repository, targetHead, sourceCommit, committer });
    }
    return await mergeCommitOf({
      ...{ repository, author: committer, committer },
      // The other way round: the target goes into the source.
      ...{ targetHead: sourceCommit, sourceCommit: targetHead },
      message: async () => `Merge branch '${target_branch}' into ${source_branch}`,
    });
  } catch (error) {
    if (!isFinalFailure(error)) throw mergeFailure(error);
    throw new Refusal("unprocessable", mergeFailed, "Git could not merge the two branches.");
  }
}
