import { z } from "zod";

import { branchPrefix } from "../../../events/repository/repository.ts";
import { changedFiles } from "../../../git/diff/diff.ts";
import { isNullObjectId } from "../../../git/name.ts";
import type { Repository } from "../../../git/repository.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findMerge } from "../../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../../projections/merge-request/merge-request-row.ts";
import { findRef, headBeforeDeletion } from "../../../projections/repository/git-ref.ts";
import { compareHeads } from "../../../services/merge-request/compare.ts";
import { withNewestSourceShown } from "../../../services/merge-request/source.ts";
import { commitsBetween } from "../../../services/merge-request/source-commits.ts";
import type { Deps } from "../../core/deps.ts";
import { PageInfo, pageInfo, pageQuery, pageRequest } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { pathLengthMax } from "../../core/schema.ts";
import {
  ChangedFileView,
  changeView,
  lineRangeFields,
  lineRangeOf,
  partView,
} from "../repository/changed-file-view.ts";
import { colouredLines, colouredWindow } from "../repository/coloured-line.ts";
import { CommitView, commitViews } from "../repository/commit-view.ts";
import { at, mustFindMergeRequest, reading } from "./place.ts";
import type { Reading } from "./view.ts";

export const ChangesView = z
  .object({
    commitBlobs: z.array(ChangedFileView),
    totalAddedLines: z.int(),
    totalRemovedLines: z.int(),
    page: PageInfo,
  })
  .meta({ id: "MergeRequestChanges" });

const getChanges = route({
  ...reading,
  method: "get",
  path: `${at}/{localId}/changes`,
  operationId: "getMergeRequestChanges",
  summary: "List the files that a merge request changes",
  description:
    "Against the common ancestor of the two branches. Without lines, but for the one file that `filePath` names.",
  query: pageQuery().extend({
    filePath: z.string().min(1).max(pathLengthMax).optional(),
    ...lineRangeFields,
  }),
  reply: ChangesView,
  async handle({ params, query, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const { repository, targetHead, sourceCommit } = await rangeOf(deps, request, row);
    const { baseTree, sourceTree } = await compareHeads(repository, targetHead, sourceCommit);
    const changes = await changedFiles(repository, baseTree, sourceTree);
    const between = `${baseTree ?? ""}..${sourceTree}`;
    const page = pageRequest(query);
    const wanted = changes.filter(
      (change) => query.filePath === undefined || pathOf(change) === query.filePath,
    );
    const items: z.input<typeof ChangedFileView>[] = [];
    const range = lineRangeOf(query);
    for (const change of wanted.slice(page.offset, page.offset + page.limit)) {
      if (query.filePath === undefined) items.push(changeView(change, between, undefined));
      else if (range === undefined) {
        const { lines } = await colouredLines(repository, change);
        items.push(changeView(change, between, undefined, lines));
      } else {
        const part = await colouredWindow(repository, change, range);
        items.push(partView(change, between, undefined, part));
      }
    }
    return {
      commitBlobs: items,
      totalAddedLines: changes.reduce((sum, { addedLines }) => sum + addedLines, 0),
      totalRemovedLines: changes.reduce((sum, { removedLines }) => sum + removedLines, 0),
      page: pageInfo(page, wanted.length),
    };
  },
});

const getCommits = route({
  ...reading,
  method: "get",
  path: `${at}/{localId}/commits`,
  operationId: "listMergeRequestCommits",
  summary: "List the commits that a merge request brings, newest first",
  list: "commitList",
  reply: CommitView,
  async handle({ params, page, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const { repository, targetHead, sourceCommit } = await rangeOf(deps, request, row);
    const ids = await commitsBetween(repository, targetHead, sourceCommit);
    const some = ids.slice(page.offset, page.offset + page.limit);
    const commits = await Promise.all(some.map((id) => repository.objects.commit(id)));
    const known = commits.filter((commit) => commit !== undefined);
    const items = await commitViews(deps, request.project.id, known);
    return { items, totalElements: ids.length };
  },
});

export const mergeRequestContentRoutes: readonly Route[] = [getChanges, getCommits];

const pathOf = (change: Awaited<ReturnType<typeof changedFiles>>[number]): string =>
  isNullObjectId(change.newId) ? change.oldPath : change.newPath;

export type Range = Readonly<{
  repository: Repository;
  targetHead: string;
  sourceCommit: string;
}>;

/**
 * What a request compares: the two heads of now, or of the moment it was merged. A target branch that is gone
 * counts as it was, as long as the repository holds its commits.
 *
 * @throws Refusal 404 `branch.not_found` when nothing is left of the target branch, `merge_request.refs_deleted`
 */
export async function rangeOf(
  deps: Deps,
  { project }: Pick<Reading, "project">,
  row: MergeRequestRow,
): Promise<Range> {
  if (row.refs_deleted) throw refsDeleted();
  const repository = await deps.git.find(project.id);
  const merge = row.merge_id === null ? undefined : await findMerge(deps.db, row.merge_id);
  const target = await findRef(deps.db, project.id, "branch", row.target_branch);
  const known = merge?.target_before ?? target?.object_id;
  const targetHead = known ?? (await lastHead(deps, repository, row));
  if (repository === undefined || targetHead === undefined) {
    throw new Refusal("not_found", "branch.not_found", "The target branch is gone.");
  }
  const newest = await withNewestSourceShown(deps, row);
  return { repository, targetHead, sourceCommit: merge?.source_commit ?? newest.source_commit };
}

function refsDeleted(): Refusal {
  const message = "The commits of the merge request were deleted.";
  return new Refusal("not_found", "merge_request.refs_deleted", message);
}

async function lastHead(
  { db }: Deps,
  repository: Repository | undefined,
  { project_id, target_branch }: MergeRequestRow,
): Promise<string | undefined> {
  const id = await headBeforeDeletion(db, project_id, branchPrefix + target_branch);
  const isHeld = id !== undefined && (await repository?.objects.info(id)) !== undefined;
  return isHeld ? id : undefined;
}
