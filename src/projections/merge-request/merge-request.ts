import type { MergeRequestId, ObjectId, UserId } from "../../events/core/ids.ts";
import { localIdEvents } from "../../events/core/local-id.ts";
import { idInStream } from "../../events/core/stream.ts";
import { discussionEvents } from "../../events/merge-request/discussion.ts";
import { mergeRequestEvents } from "../../events/merge-request/merge-request.ts";
import { type Change, change, put, remove, type Values } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel, nothing } from "../core/read-model.ts";
import {
  approvals,
  discussedAt,
  discussions,
  editedColumnsOf,
  merges,
  newMergeRequest,
  purgeRequests,
  requests,
  type StoredMergeRequest,
} from "./merge-request-row.ts";

export const mergeRequestProjection = defineReadModel({
  name: "merge_request",
  version: 4,
  tables: [requests, approvals, merges, discussions],
  events: { ...mergeRequestEvents, ...discussionEvents, ...localIdEvents, ...purgeEvents },
  effects: {
    LocalIdAssigned: ({ data: { kind, subjectId, localId: local_id } }) =>
      kind === "MERGE_REQUEST"
        ? change(requests, { id: subjectId as MergeRequestId }, { local_id })
        : [],
    MergeRequestOpened: ({ position, data }) => put(requests, newMergeRequest(data, position)),
    MergeRequestEdited: ({ stream, data }) =>
      touched(stream, data.editedAt, editedColumnsOf(data.details)),
    MergeRequestRetargeted: ({ stream, data }) =>
      touched(stream, data.retargetedAt, { target_branch: data.targetBranch }),
    MergeRequestSourceMoved: ({ stream, data }) =>
      touched(stream, data.movedAt, {
        source_commit: data.sourceCommit,
        brought_bytes: data.broughtBytes === undefined ? undefined : BigInt(data.broughtBytes),
      }),
    MergeRequestApproved: ({ stream, data }) => [
      put(approvals, {
        merge_request_id: idOf(stream),
        approver_id: data.approverId,
        source_commit: data.sourceCommit,
        approved_at: new Date(data.approvedAt),
      }),
      touched(stream, data.approvedAt),
    ],
    MergeRequestApprovalWithdrawn: ({ stream, data: { approverId: approver_id, withdrawnAt } }) => [
      remove(approvals, { merge_request_id: idOf(stream), approver_id }),
      touched(stream, withdrawnAt),
    ],
    MergeRequestApprovalsRemoved: ({ stream, data }) =>
      data.approverIds.map((approver_id) =>
        remove(approvals, { merge_request_id: idOf(stream), approver_id }),
      ),
    MergeRequestApprovalRulesReplaced: ({ stream, data }) =>
      touched(stream, data.replacedAt, { approval_rules: data.rules }),
    MergeRequestClosed: ({ stream, data }) => touched(stream, data.closedAt, { status: "CLOSED" }),
    MergeRequestReopened: ({ stream, data }) =>
      touched(stream, data.reopenedAt, { status: "OPENED" }),
    MergeRequestCanceled: ({ stream, data }) =>
      touched(stream, data.canceledAt, { status: "CANCELED" }),
    MergeRequestAutoMergeSet: ({ stream, data }) =>
      touched(stream, data.setAt, { auto_merge: data, dropped_merge: null }),
    MergeRequestAutoMergeCleared: ({ stream, data: { reason, refusal, clearedAt } }) =>
      touched(stream, clearedAt, {
        auto_merge: null,
        dropped_merge:
          reason === "CANCELED" ? null : { reason, refusal: refusal ?? null, droppedAt: clearedAt },
      }),
    MergeRequestMergeBegun: ({ stream, data }) =>
      put(merges, {
        id: data.mergeId,
        merge_request_id: idOf(stream),
        target_before: data.targetBefore,
        source_commit: data.sourceCommit,
        merge_commit: data.mergeCommit,
        remove_source_branch: data.removeSourceBranch,
        begun_by_id: data.begunById,
        begun_at: new Date(data.begunAt),
      }),
    MergeRequestMergeAbandoned: nothing,
    MergeRequestMerged: ({ stream, data }) => touched(stream, data.mergedAt, mergedColumnsOf(data)),
    MergeRequestMergedByPush: ({ stream, data }) => [
      put(merges, {
        id: data.mergeId,
        merge_request_id: idOf(stream),
        target_before: data.targetBefore,
        source_commit: data.sourceCommit,
        merge_commit: data.mergeCommit,
        remove_source_branch: false,
        begun_by_id: data.mergedById,
        begun_at: new Date(data.mergedAt),
      }),
      touched(stream, data.mergedAt, mergedColumnsOf(data)),
    ],
    MergeRequestRefsDeleted: ({ stream, data }) =>
      touched(stream, data.deletedAt, { refs_deleted: true }),
    MergeRequestFailed: ({ stream, data: { reason: failure, failedAt } }) =>
      touched(stream, failedAt, { status: "FAILED", auto_merge: null, failure }),
    DiscussionStarted: ({ data: { discussionId: id, mergeRequestId, startedAt } }) => [
      put(discussions, { id, merge_request_id: mergeRequestId }),
      changed(mergeRequestId, startedAt),
    ],
    DiscussionReplied: ({ data }) => changed(data.mergeRequestId, data.repliedAt),
    DiscussionNoteEdited: ({ data }) => changed(data.mergeRequestId, data.editedAt),
    DiscussionNoteDeleted: ({ data }) => changed(data.mergeRequestId, data.deletedAt),
    DiscussionResolved: ({ stream, data }) => discussedAt(idInStream(stream), data.resolvedAt),
    DiscussionUnresolved: ({ stream, data }) => discussedAt(idInStream(stream), data.unresolvedAt),
    ProjectPurged: ({ data }) => purgeRequests(data.projectId),
  },
});

const mergedColumnsOf = (
  merge: Readonly<{
    mergeId: string;
    mergeCommit: ObjectId;
    mergedById: UserId | null;
    mergedAt: string;
  }>,
) => ({
  status: "MERGED" as const,
  auto_merge: null,
  dropped_merge: null,
  merge_id: merge.mergeId,
  merge_commit: merge.mergeCommit,
  merged_by_id: merge.mergedById,
  merged_at: new Date(merge.mergedAt),
});

const idOf = (stream: string) => idInStream(stream) as MergeRequestId;

const touched = (stream: string, at: string, columns?: Values<StoredMergeRequest>): Change =>
  changed(idOf(stream), at, columns);

const changed = (id: MergeRequestId, at: string, columns?: Values<StoredMergeRequest>): Change =>
  change(requests, { id }, { ...columns, updated_at: new Date(at) });
