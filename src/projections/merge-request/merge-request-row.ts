import type { MergeRequestId, ObjectId, ProjectId, UserId } from "../../events/core/ids.ts";
import type { LabelId } from "../../events/label/label.ts";
import type { ApprovalRule } from "../../events/merge-request/approval-rule.ts";
import type {
  EditedDetails,
  MergeChoice,
  MergeRequestDetails,
  MergeRequestEvent,
} from "../../events/merge-request/merge-request.ts";

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

export type AutoMerge = Readonly<{ sourceCommit: string; choice: MergeChoice; setById: UserId }>;

export type StoredMergeRequest = Readonly<{
  id: MergeRequestId;
  /** Of the target branch. */
  project_id: ProjectId;
  /** Null until it is numbered; it is not shown before. */
  local_id: number | null;
  /** Of the event that opened it. */
  created_position: bigint;
  source_project_id: ProjectId;
  source_branch: string;
  target_branch: string;
  /** Newest version of the source that is kept. */
  source_commit: ObjectId;
  title: string;
  description: string;
  remove_source_branch: boolean;
  squash_commit: boolean;
  /** As it was set; the title may mark a draft as well. */
  work_in_progress: boolean;
  /** By either. */
  is_draft: boolean;
  assigned_user_ids: readonly UserId[];
  reviewer_ids: readonly UserId[];
  label_ids: readonly LabelId[];
  status: MergeRequestStatus;
  author_id: UserId;
  created_at: Date;
  updated_at: Date;
  /** Its own; null: those of the project. */
  approval_rules: readonly ApprovalRule[] | null;
  auto_merge: AutoMerge | null;
  /** Counts for the author until it is merged, and then for the project. */
  brought_bytes: bigint;
  refs_deleted: boolean;
  /** Why it failed. */
  failure: string | null;
  /** The four are null until it is merged. */
  merge_id: string | null;
  merge_commit: ObjectId | null;
  merged_by_id: UserId | null;
  merged_at: Date | null;
}>;

/** As queries give it. */
export type MergeRequestRow = StoredMergeRequest & Readonly<{ local_id: number }>;

export type MergeRequestApprovalRow = Readonly<{
  merge_request_id: string;
  approver_id: UserId;
  source_commit: ObjectId;
  approved_at: Date;
}>;

/** A merge that was begun, whether or not it was made. */
export type MergeRequestMergeRow = Readonly<{
  /** Command id of the change of the target branch. */
  id: string;
  merge_request_id: string;
  target_before: ObjectId;
  source_commit: ObjectId;
  merge_commit: ObjectId;
  remove_source_branch: boolean;
  begun_by_id: UserId;
  begun_at: Date;
}>;

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
    brought_bytes: BigInt(data.broughtBytes ?? 0),
    refs_deleted: false,
    failure: null,
    merge_id: null,
    merge_commit: null,
    merged_by_id: null,
    merged_at: null,
  };
}
