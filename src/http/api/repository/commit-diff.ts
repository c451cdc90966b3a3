import { z } from "zod";

import { changedFiles, type FileChange } from "../../../git/diff/diff.ts";
import { lastCommit } from "../../../git/history.ts";
import { isNullObjectId, repositoryPath } from "../../../git/name.ts";
import type { Commit } from "../../../git/object/object.ts";
import type { Repository } from "../../../git/repository.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { mustReadCommit } from "../../access/repository-access.ts";
import { type Route, route } from "../../core/route.ts";
import { pathLengthMax } from "../../core/schema.ts";
import {
  ChangedFileView,
  changeView,
  lineRangeFields,
  lineRangeOf,
  partView,
} from "./changed-file-view.ts";
import { colouredLines, colouredWindow } from "./coloured-line.ts";
import { CommitView, commitViews } from "./commit-view.ts";
import { mustFindCommit, refsAsOf, revisionText } from "./revision.ts";

const tag = "Commits";
const revision = z.string().meta({ description: revisionText });
const FileQuery = z.object({
  filePath: z.string().min(1).max(pathLengthMax).meta({ description: "Full path with the name." }),
});

export const ChangedFilesView = z.array(ChangedFileView);

const reading = { method: "get", tag, scope: "PROJECT_READ", access: "project:GUEST" } as const;

const listCommitFiles = route({
  ...reading,
  path: "/project/{ownerAlias}/{projectAlias}/commit/{hash}/file",
  operationId: "listCommitFiles",
  summary: "List the files that a commit changed, without the lines",
  description: "Against its first parent; of a commit without parents, all its files.",
  asOf: refsAsOf,
  params: z.object({ hash: revision }),
  reply: ChangedFilesView,
  async handle({ params, request }, deps) {
    const found = await mustFindCommit(deps, request.project, params.hash);
    const { repository, commit, lasting } = found;
    const changes = await filesOf(repository, commit);
    if (lasting) request.immutable(`${commit.id}-files`);
    return changes.map((change) => changeView(change, commit.id, commit));
  },
});

const getFileDiff = route({
  ...reading,
  path: "/project/{ownerAlias}/{projectAlias}/commit/{commitId}/diff",
  operationId: "getFileDiff",
  summary: "Get what a commit changed in a file",
  description:
    "A renamed file is found by its new path. Binary ones have no lines; large ones only in parts.",
  params: z.object({ commitId: revision }),
  query: FileQuery.extend(lineRangeFields),
  asOf: refsAsOf,
  reply: ChangedFileView,
  async handle({ params, query, request }, deps) {
    const found = await mustFindCommit(deps, request.project, params.commitId);
    const { repository, commit, lasting } = found;
    const change = mustBeChanged(await filesOf(repository, commit), query.filePath);
    const range = lineRangeOf(query);
    if (range !== undefined) {
      const part = await colouredWindow(repository, change, range);
      const view = partView(change, commit.id, commit, part);
      const named = `${view.id}-${range.offset}-${range.limit}`;
      if (part.complete && lasting) request.immutable(named);
      return view;
    }
    const { lines, complete } = await colouredLines(repository, change);
    const view = changeView(change, commit.id, commit, lines);
    if (complete && lasting) request.immutable(view.id);
    return view;
  },
});

const getLastCommit = route({
  ...reading,
  path: "/project/{ownerAlias}/{projectAlias}/commit/{commitId}/for-file",
  operationId: "getLastCommitForFile",
  summary: "Get the last commit that touched a file, as seen from a commit",
  description: "The commit that removed the file counts. A directory is possible as well.",
  params: z.object({ commitId: revision }),
  query: FileQuery,
  asOf: refsAsOf,
  reply: CommitView,
  async handle({ params, query, request }, deps) {
    const { repository, commit } = await mustFindCommit(deps, request.project, params.commitId);
    const path = repositoryPath(query.filePath).join("/") || undefined;
    const last = await lastCommit(repository, { from: commit.id, path });
    const [view] = last === undefined ? [] : await commitViews(deps, request.project.id, [last]);
    if (view !== undefined) return view;
    throw new Refusal("not_found", "blob.not_found", "No commit has touched such a file.");
  },
});

async function filesOf(repository: Repository, commit: Commit): Promise<readonly FileChange[]> {
  const [parentId] = commit.parentIds;
  const parent = parentId === undefined ? undefined : await mustReadCommit(repository, parentId);
  return changedFiles(repository, parent?.treeId, commit.treeId);
}

/** @throws Refusal 404 `diff.not_found` */
function mustBeChanged(changes: readonly FileChange[], filePath: string): FileChange {
  const path = filePath.replace(/^\/+/, "");
  const removed = (change: FileChange): boolean => isNullObjectId(change.newId);
  const found =
    changes.find((change) => !removed(change) && change.newPath === path) ??
    changes.find((change) => removed(change) && change.oldPath === path);
  if (found !== undefined) return found;
  throw new Refusal("not_found", "diff.not_found", "The commit did not change such a file.");
}

export const commitDiffRoutes: readonly Route[] = [getFileDiff, getLastCommit, listCommitFiles];
