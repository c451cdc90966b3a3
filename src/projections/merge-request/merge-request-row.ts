import type { MergeRequestId, ObjectId, ProjectId, UserId } from "../../events/core/ids.ts";
import type { LabelId } from "../../events/label/label.ts";
import type { ApprovalRule } from "../../events/merge-request/approval-rule.ts";
import type {
  EditedDetails,
  MergeChoice,
  MergeRequestDetails,
  MergeRequestEvent,
} from "../../events/merge-request/merge-request.ts";
import { type Change, statement } from "../core/change.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

export const mergeRequestStatuses = ["OPENED", "MERGED", "CLOSED", "CANCELED", "FAILED"] as const;
export type MergeRequestStatus = (typeof mergeRequestStatuses)[number];
/** As answers and webhooks show them. */
export const mergeRequestStatusTitles: Readonly<Record<MergeRequestStatus, string>> = {
  OPENED: "Open",
  MERGED: "Merged",
  CLOSED: "Closed",
  CANCELED: "Canceled",
  FAILED: "Failed",
};

/** An awaited merge that is not made any more. */
export type DroppedMerge = Readonly<{
  reason: "PUSH" | "TARGET_CHANGED" | "CLOSED" | "REFUSED";
  /** What the merge was refused with; null for another reason, and of older ones. */
  refusal: Readonly<{ code: string; message: string }> | null;
  droppedAt: string;
}>;

const droppedWords: Readonly<Record<DroppedMerge["reason"], string>> = {
  PUSH: "New commits were pushed to the source branch.",
  TARGET_CHANGED: "The request goes into another branch now.",
  CLOSED: "The request was closed.",
  REFUSED: "The merge was refused.",
};

/** Why it is not made, as answers and mails say it. */
export const whyDropped = ({ reason, refusal }: DroppedMerge): string =>
  refusal?.message ?? droppedWords[reason];

export type AutoMerge = Readonly<{ sourceCommit: string; choice: MergeChoice; setById: UserId }>;

export const requests = defineTable({
  name: "merge_request",
  columns: {
    id: column<MergeRequestId>("uuid"),
    /** Of the target branch. */
    project_id: column<ProjectId>("uuid"),
    /** Null until it is numbered; it is not shown before. */
    local_id: "integer null",
    /** Of the event that opened it. */
    created_position: "bigint",
    source_project_id: column<ProjectId>("uuid"),
    source_branch: "text",
    target_branch: "text",
    /** Newest version of the source that is kept. */
    source_commit: column<ObjectId>("text"),
    title: "text",
    description: "text",
    remove_source_branch: "boolean",
    squash_commit: "boolean",
    /** As it was set; the title may mark a draft as well. */
    work_in_progress: "boolean",
    /** By either. */
    is_draft: "boolean",
    assigned_user_ids: column<readonly UserId[]>("uuid[]"),
    reviewer_ids: column<readonly UserId[]>("uuid[]"),
    label_ids: column<readonly LabelId[]>("uuid[]"),
    status: column<MergeRequestStatus>("text"),
    author_id: column<UserId>("uuid"),
    created_at: "timestamptz",
    /** Of the last change, also of a note. */
    updated_at: "timestamptz",
    /** Its own; null: those of the project. */
    approval_rules: column<readonly ApprovalRule[] | null>("jsonb null"),
    auto_merge: column<AutoMerge | null>("jsonb null"),
    /** The last one, until another is awaited or the request is merged. */
    dropped_merge: column<DroppedMerge | null>("jsonb null"),
    /** Counts for the author until it is merged, and then for the project. */
    brought_bytes: "bigint",
    refs_deleted: "boolean",
    /** Why it failed. */
    failure: "text null",
    /** The four are null until it is merged, and stay so where nobody is known to have pushed the merge. */
    merge_id: "uuid null",
    merge_commit: column<ObjectId | null>("text null"),
    merged_by_id: column<UserId | null>("uuid null"),
    merged_at: "timestamptz null",
  },
  key: ["id"],
  unique: ["(project_id, local_id)"],
  lateIndexes: [
    "(project_id, status, created_at, id)",
    "(project_id, created_at, id)",
    "(project_id, updated_at, id)",
    "(source_project_id, source_branch, status)",
    "(created_at) where local_id is null",
    "(updated_at) where auto_merge is not null",
    "(author_id) where brought_bytes > 0",
    "(project_id) where brought_bytes > 0",
  ],
});

export type StoredMergeRequest = RowOf<typeof requests>;

export const approvals = defineTable({
  name: "merge_request_approval",
  columns: {
    merge_request_id: "uuid",
    approver_id: column<UserId>("uuid"),
    source_commit: column<ObjectId>("text"),
    approved_at: "timestamptz",
  },
  key: ["merge_request_id", "approver_id"],
});

export type MergeRequestApprovalRow = RowOf<typeof approvals>;

/** Merges that were begun, whether or not they were made, and pushes that merged a request. */
export const merges = defineTable({
  name: "merge_request_merge",
  columns: {
    /** Command id of the change of the target branch; of a push, an id of its own. */
    id: "uuid",
    merge_request_id: "uuid",
    target_before: column<ObjectId>("text"),
    source_commit: column<ObjectId>("text"),
    merge_commit: column<ObjectId>("text"),
    remove_source_branch: "boolean",
    /** Null where a push merged the request, and nobody is known to have pushed. */
    begun_by_id: column<UserId | null>("uuid null"),
    begun_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(merge_request_id)"],
});

export type MergeRequestMergeRow = RowOf<typeof merges>;

/** Events that resolve a discussion do not name its request. */
export const discussions = defineTable({
  name: "merge_request_discussion",
  columns: { id: "uuid", merge_request_id: "uuid" },
  key: ["id"],
  indexes: ["(merge_request_id)"],
});

/** Changes the time of the request that a discussion is about. */
export const discussedAt = (discussionId: string, at: string): Change =>
  statement(
    `update merge_request set updated_at = ? from merge_request_discussion as discussion
     where discussion.id = ? and merge_request.id = discussion.merge_request_id`,
    [new Date(at), discussionId],
  );

/** As queries give it. */
export type MergeRequestRow = StoredMergeRequest & Readonly<{ local_id: number }>;

/** The title marks a draft in one of the usual ways. */
const isDraftTitle = (title: string): boolean => /^(?:draft|wip):/i.test(title.trimStart());

/** Those of an edit, which may leave the description as it is. */
export const editedColumnsOf = (details: EditedDetails) => ({
  title: details.title,
  ...(details.description !== undefined && { description: details.description }),
  remove_source_branch: details.removeSourceBranch,
  squash_commit: details.squashCommit,
  work_in_progress: details.workInProgress,
  is_draft: details.workInProgress || isDraftTitle(details.title),
  assigned_user_ids: [...details.assignedUserIds],
  reviewer_ids: [...details.reviewerIds],
  label_ids: [...details.labelIds],
});

export const columnsOf = (details: MergeRequestDetails) => ({
  ...editedColumnsOf(details),
  description: details.description,
});

type Opened = Extract<MergeRequestEvent, { type: "MergeRequestOpened" }>["data"];

/** Without the number, which comes with an event of its own. */
export function newMergeRequest(
  data: Opened,
  position: bigint,
): Omit<StoredMergeRequest, "local_id"> {
  return {
    id: data.mergeRequestId,
    project_id: data.projectId,
    created_position: position,
    source_project_id: data.sourceProjectId,
    source_branch: data.sourceBranch,
    target_branch: data.targetBranch,
    source_commit: data.sourceCommit,
    ...columnsOf(data.details),
    status: "OPENED",
    author_id: data.openedById,
    created_at: new Date(data.openedAt),
    updated_at: new Date(data.openedAt),
    approval_rules: null,
    auto_merge: null,
    dropped_merge: null,
    brought_bytes: BigInt(data.broughtBytes ?? 0),
    refs_deleted: false,
    failure: null,
    merge_id: null,
    merge_commit: null,
    merged_by_id: null,
    merged_at: null,
  };
}

/** Removes what has no project id of its own with the requests of a project. */
export const purgeRequests = (projectId: string): Change =>
  statement(
    `with gone as (delete from merge_request where project_id = ? returning id),
       begun as (delete from merge_request_merge where merge_request_id in (select id from gone)),
       said as (delete from merge_request_discussion where merge_request_id in (select id from gone))
     delete from merge_request_approval where merge_request_id in (select id from gone)`,
    [projectId],
  );
