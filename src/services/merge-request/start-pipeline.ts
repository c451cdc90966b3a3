import { currentState } from "../../commands/core/handle.ts";
import { mergeRequest } from "../../commands/merge-request/merge-request.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { ObjectId, ProjectId, type UserId } from "../../events/core/ids.ts";
import { headRefOf, mergeRefOf } from "../../events/merge-request/merge-request.ts";
import { PipelineOrigin, pipelineEvents, pipelineStream } from "../../events/pipeline/pipeline.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import { mergeBase } from "../../git/history.ts";
import { identLine } from "../../git/object/writer.ts";
import type { Repository } from "../../git/repository.ts";
import { readServiceRef, ServiceRefMoved, setServiceRef } from "../../git/service-ref.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { reaches } from "../../projections/protection/applicable.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import { accountIdent } from "../../projections/user/commit-author.ts";
import { type NewPipeline, pipelineIdOf } from "../pipeline/create.ts";
import { startPipeline } from "../pipeline/start.ts";
import { makeMerge } from "./make-merge.ts";

/**
 * The pipeline that this command has recorded already: it goes on with the merge that was made then,
 * wherever the branches stand now.
 */
export async function begunPipeline(
  { db, store }: Pick<StartDeps, "db" | "store">,
  metadata: EventMetadata,
): Promise<NewPipeline | undefined> {
  const stream = pipelineStream(pipelineIdOf(metadata));
  for await (const { data } of store.readStream(stream, 0n, 1)) {
    const { projectId, ...created } = pipelineEvents.PipelineCreated.parse(data);
    const project = await findProjectById(db, ProjectId.parse(projectId));
    const origin = PipelineOrigin.parse(created);
    return project && { project, origin, variables: {}, metadata };
  }
  return undefined;
}

type Started = Exclude<Awaited<ReturnType<typeof startPipeline>>, { none: string }>;
type StartDeps = Parameters<typeof startPipeline>[0];

export type NoMergeRequestPipeline = Readonly<{
  none: "not_open" | "no_source" | "no_right" | "no_file" | "refused" | "no_jobs";
}>;

/**
 * Starts the pipeline of an open request. It runs on what a merge would give, or on the source where that
 * is in conflict. That of a fork runs in the fork, on the source: with the variables, tokens and agents of
 * the fork and none of the target.
 *
 * @param order.userId who must be able to start pipelines where it runs
 * @throws what `startPipeline` throws
 */
export async function startMergeRequestPipeline(
  deps: StartDeps,
  row: MergeRequestRow,
  { userId, metadata }: Readonly<{ userId: UserId; metadata: EventMetadata }>,
): Promise<Started | NoMergeRequestPipeline> {
  const begun = await begunPipeline(deps, metadata);
  if (begun !== undefined) return startPipeline(deps, begun);
  if (row.status !== "OPENED") return { none: "not_open" };
  const project = await findProjectById(deps.db, row.source_project_id);
  const repository = project && (await deps.git.find(project.id));
  if (project === undefined || repository === undefined) return { none: "no_source" };
  const role = await actingRole(deps.db, project, userId);
  if (role === undefined || !reaches(role, "DEVELOPER")) return { none: "no_right" };
  const wanted = { project, repository, row, userId };
  const origin = (await mergedOrigin(deps, wanted)) ?? (await sourceOrigin(deps, wanted));
  return startPipeline(deps, { project, origin, variables: {}, metadata });
}

type Wanted = Readonly<{
  project: ProjectRow;
  repository: Repository;
  row: MergeRequestRow;
  userId: UserId;
}>;

/** Another pipeline, or the merge, moves the ref once each. */
const attemptsMax = 5;

/** Undefined for a fork, and where there is no result of a merge. */
async function mergedOrigin(deps: StartDeps, wanted: Wanted): Promise<PipelineOrigin | undefined> {
  if (wanted.row.source_project_id !== wanted.row.project_id) return undefined;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await mergedOnce(deps, wanted);
    } catch (error) {
      if (!(error instanceof ServiceRefMoved) || attempt === attemptsMax) throw error;
    }
  }
}

/** @throws ServiceRefMoved when the request was merged, or another pipeline was started, meanwhile */
async function mergedOnce(deps: StartDeps, wanted: Wanted): Promise<PipelineOrigin | undefined> {
  const { repository, row } = wanted;
  const { db } = deps;
  const ref = mergeRefOf(row.local_id);
  // Read before the branch, which the merge of the request moves with it: that merge is never replaced.
  const before = await readServiceRef(repository, ref);
  if (before !== null && (await isMerge(deps, wanted, before))) return undefined;
  const target = await findRef(db, row.project_id, "branch", row.target_branch);
  if (!target) return undefined;
  const commit = await repository.objects.commit(row.source_commit);
  // The same for each attempt: a job that was repeated names the commit that the pipeline runs on.
  const line = identLine(await accountIdent(db, row.author_id), commit?.author.when ?? new Date(0));
  const merging = {
    ...{ repository, targetHead: target.object_id, sourceCommit: row.source_commit },
    ...{ strategy: "MERGE_COMMIT" as const, author: line, committer: line },
    message: async () => `Merge ${row.source_commit} into ${target.object_id}`,
  } as const;
  try {
    const commitId = ObjectId.parse(await makeMerge(merging));
    await setServiceRef(repository, ref, commitId, before);
    const targetCommit = ObjectId.parse(target.object_id);
    const baseCommit = await baseOf(repository, targetCommit, row);
    const run = { ref, commitId, beforeCommitId: targetCommit, targetCommit, baseCommit };
    return originOf(wanted, run);
  } catch (error) {
    if (error instanceof Refusal && error.kind !== "unavailable") return undefined;
    throw error;
  }
}

/** Of the request, in the target. What a pipeline ran on may be there as well: a push put it there. */
async function isMerge({ store }: StartDeps, wanted: Wanted, commitId: string): Promise<boolean> {
  if (!(await isInTarget(wanted, commitId))) return false;
  const state = await currentState(store, mergeRequest, wanted.row.id);
  if (state.status === "absent") return false;
  return [...state.begun.values()].some(({ mergeCommit }) => mergeCommit === commitId);
}

/** By the repository itself: the read model may not show the merge yet. */
async function isInTarget({ repository, row }: Wanted, commitId: string): Promise<boolean> {
  const branch = branchPrefix + row.target_branch;
  const head = (await repository.refs([branch])).get(branch);
  return head !== undefined && (await repository.isAncestor(commitId, head));
}

async function sourceOrigin({ db, git }: StartDeps, wanted: Wanted): Promise<PipelineOrigin> {
  const { row } = wanted;
  const target = await findRef(db, row.project_id, "branch", row.target_branch);
  const repository = await git.find(row.project_id);
  const baseCommit = target && repository && (await baseOf(repository, target.object_id, row));
  const ref = headRefOf(row.local_id);
  // The base is part of the history of the source, so a fork has it as well.
  const beforeCommitId = baseCommit ?? null;
  const commitId = row.source_commit;
  return originOf(wanted, { ref, commitId, beforeCommitId, targetCommit: null, baseCommit });
}

async function baseOf(
  repository: Repository,
  targetHead: string,
  { source_commit }: MergeRequestRow,
): Promise<ObjectId | undefined> {
  const base = await mergeBase(repository, targetHead, source_commit);
  return base ? ObjectId.parse(base) : undefined;
}

type Run = Pick<PipelineOrigin, "ref" | "commitId" | "beforeCommitId"> &
  Readonly<{ targetCommit: ObjectId | null; baseCommit: ObjectId | undefined }>;

function originOf(
  { row, userId }: Wanted,
  { targetCommit, baseCommit, ...run }: Run,
): PipelineOrigin {
  return {
    ...run,
    isTag: false,
    source: "MERGE_REQUEST_EVENT",
    userId,
    parent: null,
    mergeRequest: {
      localId: row.local_id,
      sourceBranch: row.source_branch,
      targetBranch: row.target_branch,
      mergeRequestId: row.id,
      projectId: row.project_id,
      sourceProjectId: row.source_project_id,
      sourceCommit: row.source_commit,
      targetCommit,
      ...(baseCommit && { baseCommit }),
    },
    startedBy: null,
  };
}
