import type { MergeRequestId, UserId } from "../../events/core/ids.ts";
import { localIdEvents } from "../../events/core/local-id.ts";
import { idInStream } from "../../events/core/stream.ts";
import { mergeRequestEvents } from "../../events/merge-request/merge-request.ts";
import { defineProjection, ignore, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import {
  columnsOf,
  type MergeRequestApprovalRow,
  type MergeRequestMergeRow,
  newMergeRequest,
  type StoredMergeRequest,
} from "./merge-request-row.ts";
import { createMergeRequestTables } from "./merge-request-table.ts";

export const mergeRequestProjection = defineProjection({
  name: "merge_request",
  version: 1,
  tables: ["merge_request", "merge_request_approval", "merge_request_merge"],
  create: createMergeRequestTables,
  events: { ...mergeRequestEvents, ...localIdEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: purge,
    LocalIdAssigned: async (tx, { data }) => {
      if (data.kind !== "MERGE_REQUEST") return;
      await tx<StoredMergeRequest>("merge_request")
        .where("id", data.subjectId as MergeRequestId)
        .update({ local_id: data.localId });
    },
    MergeRequestOpened: async (tx, { position, data }) => {
      const row = newMergeRequest(data, position);
      await tx("merge_request").insert(row).onConflict("id").merge();
    },
    MergeRequestEdited: (tx, { stream, data }) =>
      touch(tx, stream, data.editedAt, columnsOf(data.details)),
    MergeRequestRetargeted: (tx, { stream, data }) =>
      touch(tx, stream, data.retargetedAt, { target_branch: data.targetBranch }),
    MergeRequestSourceMoved: (tx, { stream, data }) =>
      touch(tx, stream, data.movedAt, { source_commit: data.sourceCommit }),
    MergeRequestApproved: async (tx, { stream, data }) => {
      const row = {
        merge_request_id: idInStream(stream),
        approver_id: data.approverId,
        source_commit: data.sourceCommit,
        approved_at: new Date(data.approvedAt),
      };
      await tx<MergeRequestApprovalRow>("merge_request_approval")
        .insert(row)
        .onConflict(["merge_request_id", "approver_id"])
        .merge();
      await touch(tx, stream, data.approvedAt);
    },
    MergeRequestApprovalWithdrawn: async (tx, { stream, data }) => {
      await dropApprovals(tx, stream, [data.approverId]);
      await touch(tx, stream, data.withdrawnAt);
    },
    MergeRequestApprovalsRemoved: (tx, { stream, data }) =>
      dropApprovals(tx, stream, data.approverIds),
    MergeRequestApprovalRulesReplaced: (tx, { stream, data }) =>
      touch(tx, stream, data.replacedAt, {
        approval_rules: data.rules === null ? null : JSON.stringify(data.rules),
      }),
    MergeRequestClosed: (tx, { stream, data }) =>
      touch(tx, stream, data.closedAt, { status: "CLOSED" }),
    MergeRequestReopened: (tx, { stream, data }) =>
      touch(tx, stream, data.reopenedAt, { status: "OPENED" }),
    MergeRequestCanceled: (tx, { stream, data }) =>
      touch(tx, stream, data.canceledAt, { status: "CANCELED" }),
    MergeRequestAutoMergeSet: (tx, { stream, data }) =>
      touch(tx, stream, data.setAt, { auto_merge: JSON.stringify(data) }),
    MergeRequestAutoMergeCleared: (tx, { stream, data }) =>
      touch(tx, stream, data.clearedAt, { auto_merge: null }),
    MergeRequestMergeBegun: async (tx, { stream, data }) => {
      const row = {
        id: data.mergeId,
        merge_request_id: idInStream(stream),
        target_before: data.targetBefore,
        source_commit: data.sourceCommit,
        merge_commit: data.mergeCommit,
        remove_source_branch: data.removeSourceBranch,
        begun_by_id: data.begunById,
        begun_at: new Date(data.begunAt),
      };
      await tx<MergeRequestMergeRow>("merge_request_merge").insert(row).onConflict("id").merge();
    },
    MergeRequestMergeAbandoned: ignore,
    MergeRequestMerged: (tx, { stream, data }) =>
      touch(tx, stream, data.mergedAt, {
        status: "MERGED",
        auto_merge: null,
        merge_id: data.mergeId,
        merge_commit: data.mergeCommit,
        merged_by_id: data.mergedById,
        merged_at: new Date(data.mergedAt),
      }),
    MergeRequestFailed: (tx, { stream, data: { reason: failure, failedAt } }) =>
      touch(tx, stream, failedAt, { status: "FAILED", auto_merge: null, failure }),
  },
});

async function purge(tx: Tx, { data }: Readonly<{ data: { projectId: string } }>): Promise<void> {
  const own = tx("merge_request").where("project_id", data.projectId).select("id");
  await tx("merge_request_approval").whereIn("merge_request_id", own).delete();
  await tx("merge_request_merge").whereIn("merge_request_id", own).delete();
  await dropRows(tx, data.projectId, { merge_request: "project_id" });
}

async function touch(
  tx: Tx,
  stream: string,
  at: string,
  change: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await tx("merge_request")
    .where("id", idInStream(stream))
    .update({ ...change, updated_at: new Date(at) });
}

async function dropApprovals(
  tx: Tx,
  stream: string,
  approverIds: readonly UserId[],
): Promise<void> {
  await tx<MergeRequestApprovalRow>("merge_request_approval")
    .where("merge_request_id", idInStream(stream))
    .whereIn("approver_id", approverIds)
    .delete();
}
