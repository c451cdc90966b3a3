import type { MergeRequestId, UserId } from "../../events/core/ids.ts";
import { localIdEvents } from "../../events/core/local-id.ts";
import { idInStream } from "../../events/core/stream.ts";
import { mergeRequestEvents } from "../../events/merge-request/merge-request.ts";
import { ignore } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { type Changes, tableOf, type Writes } from "../core/writes.ts";
import {
  editedColumnsOf,
  type MergeRequestApprovalRow,
  type MergeRequestMergeRow,
  newMergeRequest,
  type StoredMergeRequest,
} from "./merge-request-row.ts";
import { createMergeRequestTables } from "./merge-request-table.ts";

const requests = tableOf<StoredMergeRequest>({ name: "merge_request", key: ["id"] });
const merges = tableOf<MergeRequestMergeRow>({ name: "merge_request_merge", key: ["id"] });
const approvals = tableOf<MergeRequestApprovalRow>({
  name: "merge_request_approval",
  key: ["merge_request_id", "approver_id"],
});

export const mergeRequestProjection = defineRowProjection({
  name: "merge_request",
  version: 1,
  tables: ["merge_request", "merge_request_approval", "merge_request_merge"],
  create: createMergeRequestTables,
  events: { ...mergeRequestEvents, ...localIdEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: purge,
    LocalIdAssigned: (rows, { data }) => {
      if (data.kind !== "MERGE_REQUEST") return;
      const id = data.subjectId as MergeRequestId;
      rows.change(requests, { id }, { local_id: data.localId });
    },
    MergeRequestOpened: (rows, { position, data }) =>
      rows.put(requests, newMergeRequest(data, position)),
    MergeRequestEdited: (rows, { stream, data }) =>
      touch(rows, stream, data.editedAt, editedColumnsOf(data.details)),
    MergeRequestRetargeted: (rows, { stream, data }) =>
      touch(rows, stream, data.retargetedAt, { target_branch: data.targetBranch }),
    MergeRequestSourceMoved: (rows, { stream, data }) =>
      touch(rows, stream, data.movedAt, { source_commit: data.sourceCommit }),
    MergeRequestApproved: (rows, { stream, data }) => {
      const row = {
        merge_request_id: idOf(stream),
        approver_id: data.approverId,
        source_commit: data.sourceCommit,
        approved_at: new Date(data.approvedAt),
      };
      rows.put(approvals, row);
      touch(rows, stream, data.approvedAt);
    },
    MergeRequestApprovalWithdrawn: (rows, { stream, data }) => {
      dropApprovals(rows, stream, [data.approverId]);
      touch(rows, stream, data.withdrawnAt);
    },
    MergeRequestApprovalsRemoved: (rows, { stream, data }) =>
      dropApprovals(rows, stream, data.approverIds),
    MergeRequestApprovalRulesReplaced: (rows, { stream, data }) =>
      touch(rows, stream, data.replacedAt, {
        approval_rules: data.rules,
      }),
    MergeRequestClosed: (rows, { stream, data }) =>
      touch(rows, stream, data.closedAt, { status: "CLOSED" }),
    MergeRequestReopened: (rows, { stream, data }) =>
      touch(rows, stream, data.reopenedAt, { status: "OPENED" }),
    MergeRequestCanceled: (rows, { stream, data }) =>
      touch(rows, stream, data.canceledAt, { status: "CANCELED" }),
    MergeRequestAutoMergeSet: (rows, { stream, data }) =>
      touch(rows, stream, data.setAt, { auto_merge: data }),
    MergeRequestAutoMergeCleared: (rows, { stream, data }) =>
      touch(rows, stream, data.clearedAt, { auto_merge: null }),
    MergeRequestMergeBegun: (rows, { stream, data }) => {
      const row = {
        id: data.mergeId,
        merge_request_id: idOf(stream),
        target_before: data.targetBefore,
        source_commit: data.sourceCommit,
        merge_commit: data.mergeCommit,
        remove_source_branch: data.removeSourceBranch,
        begun_by_id: data.begunById,
        begun_at: new Date(data.begunAt),
      };
      rows.put(merges, row);
    },
    MergeRequestMergeAbandoned: ignore,
    MergeRequestMerged: (rows, { stream, data }) =>
      touch(rows, stream, data.mergedAt, {
        status: "MERGED",
        auto_merge: null,
        merge_id: data.mergeId,
        merge_commit: data.mergeCommit,
        merged_by_id: data.mergedById,
        merged_at: new Date(data.mergedAt),
      }),
    MergeRequestFailed: (rows, { stream, data: { reason: failure, failedAt } }) =>
      touch(rows, stream, failedAt, { status: "FAILED", auto_merge: null, failure }),
  },
});

async function purge(
  rows: Writes,
  { data }: Readonly<{ data: { projectId: string } }>,
): Promise<void> {
  const tx = await rows.written();
  const own = tx("merge_request").where("project_id", data.projectId).select("id");
  await tx("merge_request_approval").whereIn("merge_request_id", own).delete();
  await tx("merge_request_merge").whereIn("merge_request_id", own).delete();
  await dropRows(tx, data.projectId, { merge_request: "project_id" });
}

const idOf = (stream: string) => idInStream(stream) as MergeRequestId;

function touch(
  rows: Writes,
  stream: string,
  at: string,
  change: Changes<StoredMergeRequest> = {},
): void {
  rows.change(requests, { id: idOf(stream) }, { ...change, updated_at: new Date(at) });
}

function dropApprovals(rows: Writes, stream: string, approverIds: readonly UserId[]): void {
  for (const approver_id of approverIds) {
    rows.remove(approvals, { merge_request_id: idOf(stream), approver_id });
  }
}
