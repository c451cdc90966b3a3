import type { Knex } from "knex";

import { partPattern } from "../list/folded.ts";
import { partOf, type Slice } from "../list/list-rows.ts";
import { counted, countedNear } from "../list/total.ts";
import type {
  MergeRequestApprovalRow,
  MergeRequestMergeRow,
  MergeRequestRow,
  MergeRequestStatus,
} from "./merge-request-row.ts";

const mergeRequests = (db: Knex) =>
  db("merge_request").whereNotNull("local_id").select<MergeRequestRow[]>("merge_request.*");

/** A merge request of this very project; another project's is not found. */
export async function findMergeRequest(
  db: Knex,
  projectId: string,
  localId: number,
): Promise<MergeRequestRow | undefined> {
  const [row] = await mergeRequests(db).where({ project_id: projectId, local_id: localId });
  return row;
}

export async function findMergeRequestById(
  db: Knex,
  id: string,
): Promise<MergeRequestRow | undefined> {
  const [row] = await mergeRequests(db).where({ id });
  return row;
}

/** Those that are open from a branch, in whichever project: the oldest, where there is a limit. */
export async function openMergeRequestsFrom(
  db: Knex,
  source: Readonly<{ projectId: string; branch: string; countMax?: number }>,
): Promise<readonly MergeRequestRow[]> {
  const query = mergeRequests(db)
    .where({ source_project_id: source.projectId, source_branch: source.branch, status: "OPENED" })
    .orderBy(["created_at", "id"]);
  if (source.countMax !== undefined) query.limit(source.countMax);
  return query;
}

/** Those that are open into a branch, newest first. */
export async function newestOpenInto(
  db: Knex,
  target: Readonly<{
    projectId: string;
    branch: string;
    /** A position of the log. */
    openedBefore?: bigint;
    countMax: number;
  }>,
): Promise<readonly MergeRequestRow[]> {
  const query = mergeRequests(db).where({
    project_id: target.projectId,
    status: "OPENED",
    target_branch: target.branch,
  });
  if (target.openedBefore !== undefined)
    query.where("created_position", "<", String(target.openedBefore));
  return query.orderBy("created_at", "desc").limit(target.countMax);
}

/** Those that are open into a branch from one of the commits. */
export async function openIntoFrom(
  db: Knex,
  { projectId, branch }: Readonly<{ projectId: string; branch: string }>,
  commitIds: readonly string[],
): Promise<readonly MergeRequestRow[]> {
  const known = db("git_ref").whereRaw(
    "git_ref.project_id = merge_request.source_project_id and git_ref.kind = 'branch' and git_ref.name = merge_request.source_branch and git_ref.object_id = any(?)",
    [[...commitIds]],
  );
  return mergeRequests(db)
    .where({ project_id: projectId, status: "OPENED", target_branch: branch })
    .where((either) =>
      either
        .whereRaw("source_commit = any(?)", [[...commitIds]])
        .orWhereExists(known.select(db.raw("1"))),
    );
}

/** The request of the project that was merged last from one of its branches. */
export async function lastMergedFrom(
  db: Knex,
  { projectId, branch }: Readonly<{ projectId: string; branch: string }>,
): Promise<MergeRequestRow | undefined> {
  const [row] = await mergeRequests(db)
    .where({ source_project_id: projectId, source_branch: branch, status: "MERGED" })
    .where("project_id", projectId)
    .orderBy("merged_at", "desc")
    .limit(1);
  return row;
}

export type MergeRequestFilter = Readonly<{
  projectId: string;
  /** Any of them. */
  statuses?: readonly MergeRequestStatus[] | undefined;
  /** All of them. */
  labelIds?: readonly string[] | undefined;
  assigneeId?: string | undefined;
  authorId?: string | undefined;
  reviewerId?: string | undefined;
  sourceBranch?: string | undefined;
  targetBranch?: string | undefined;
  draft?: boolean | undefined;
  /** Part of title or description, in any case. */
  q?: string | undefined;
  updatedAfter?: Date | undefined;
  sort: "created" | "updated";
  order: "asc" | "desc";
  limit: number;
  offset: number;
}>;

export function listMergeRequests(
  db: Knex,
  filter: MergeRequestFilter,
): Promise<Slice<MergeRequestRow>> {
  const { sort, order, limit, offset } = filter;
  const found = () => db("merge_request").whereNotNull("local_id").modify(narrow, filter);
  const sorted = [`${sort}_at`, "id"].map((column) => ({ column, order }));
  const page = { limit, offset };
  const count = (all: Knex.QueryBuilder) =>
    filter.q === undefined ? counted(all) : countedNear(db, all, page);
  return partOf(found, (rows) => rows.orderBy(sorted), page, count);
}

function narrow(query: Knex.QueryBuilder, filter: MergeRequestFilter): void {
  const { statuses, labelIds = [], assigneeId, reviewerId, updatedAfter, q } = filter;
  const equal = {
    project_id: filter.projectId,
    author_id: filter.authorId,
    source_branch: filter.sourceBranch,
    target_branch: filter.targetBranch,
    is_draft: filter.draft,
  };
  for (const [column, value] of Object.entries(equal)) {
    if (value !== undefined) query.where(column, value);
  }
  if (statuses !== undefined) query.whereIn("status", statuses);
  if (assigneeId !== undefined) query.whereRaw("? = any(assigned_user_ids)", [assigneeId]);
  if (reviewerId !== undefined) query.whereRaw("? = any(reviewer_ids)", [reviewerId]);
  if (labelIds.length > 0) query.whereRaw("label_ids @> ?::uuid[]", [[...labelIds]]);
  if (updatedAfter !== undefined) query.where("updated_at", ">", updatedAfter);
  if (q !== undefined) {
    const part = partPattern(q);
    query.whereRaw("(public.folded(title) ~ ? or public.folded(description) ~ ?)", [part, part]);
  }
}

/** In the order they were given. */
export async function approvalsOf(
  db: Knex,
  mergeRequestId: string,
): Promise<readonly MergeRequestApprovalRow[]> {
  return db<MergeRequestApprovalRow>("merge_request_approval")
    .where({ merge_request_id: mergeRequestId })
    .orderBy(["approved_at", "approver_id"]);
}

/** Merges that were begun, by the command ids of the changes of the target branches. */
export async function findBegunMerges(
  db: Knex,
  mergeIds: readonly string[],
): Promise<readonly MergeRequestMergeRow[]> {
  return db<MergeRequestMergeRow>("merge_request_merge").whereRaw("id = any(?)", [[...mergeIds]]);
}

/** The one that the target branch was moved by. */
export function findMerge(db: Knex, mergeId: string): Promise<MergeRequestMergeRow | undefined> {
  return db<MergeRequestMergeRow>("merge_request_merge").where("id", mergeId).first();
}

export type Unnumbered = Readonly<{ id: string; project_id: string; created_position: bigint }>;

/** Requests whose process died before it numbered them. */
export function unnumberedMergeRequests(
  db: Knex,
  before: Date,
  countMax: number,
): Promise<readonly Unnumbered[]> {
  return db("merge_request")
    .whereNull("local_id")
    .where("created_at", "<", before)
    .orderBy("created_position")
    .limit(countMax)
    .select<Unnumbered[]>("id", "project_id", "created_position");
}

/** Ids of all requests into a project, for sending history again. */
export async function mergeRequestIdsOf(db: Knex, projectId: string): Promise<readonly string[]> {
  return db("merge_request")
    .where({ project_id: projectId })
    .orderBy("created_position")
    .pluck("id");
}

/** Ids of open requests that wait for their pipelines, longest waiting first. */
export async function awaitingMergeRequests(
  db: Knex,
  countMax: number,
): Promise<readonly string[]> {
  return db("merge_request")
    .whereNotNull("auto_merge")
    .where("status", "OPENED")
    .orderBy("updated_at")
    .limit(countMax)
    .pluck("id");
}

/** The same of those whose source is a commit, from or into a project. */
export async function awaitingMergeRequestsOf(
  db: Knex,
  projectId: string,
  commitId: string,
  countMax: number,
): Promise<readonly string[]> {
  return db("merge_request")
    .whereNotNull("auto_merge")
    .where({ status: "OPENED", source_commit: commitId })
    .where((either) =>
      either.where({ project_id: projectId }).orWhere({ source_project_id: projectId }),
    )
    .orderBy("updated_at")
    .limit(countMax)
    .pluck("id");
}
