import { MergeRequestId, ObjectId, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import type { MergeRequestEvent } from "../../../src/events/merge-request/merge-request.ts";
import { at } from "../app/history.ts";

const mergeRequestId = MergeRequestId.parse("4d3c2b1a-0f9e-4d8c-9b7a-6e5d4c3b2a19");
export const projectId = ProjectId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
export const otherProject = ProjectId.parse("1a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
export const by = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
export const approver = UserId.parse("8e5f5d1f-8f66-4d7d-8b46-1e5cc6f3bc12");
const commits = ["a", "b", "c"].map((digit) => ObjectId.parse(digit.repeat(40)));
export const [first, second, third] = commits as [ObjectId, ObjectId, ObjectId];
export const details = {
  title: "Search",
  description: "",
  removeSourceBranch: false,
  squashCommit: false,
  workInProgress: false,
  assignedUserIds: [],
  reviewerIds: [],
  labelIds: [],
};
export const within = { projectId, by, at } as const;
const branches = { sourceBranch: "feature", targetBranch: "main" };

export const opened: Extract<MergeRequestEvent, { type: "MergeRequestOpened" }> = {
  type: "MergeRequestOpened",
  data: {
    ...{ mergeRequestId, projectId, sourceProjectId: projectId, ...branches },
    ...{ sourceCommit: first, details, openedById: by, openedAt: at },
  },
};
export const approved: MergeRequestEvent = {
  type: "MergeRequestApproved",
  data: { approverId: approver, sourceCommit: first, approvedAt: at },
};
export const closed: MergeRequestEvent = {
  type: "MergeRequestClosed",
  data: { closedById: by, closedAt: at },
};
export const canceled: MergeRequestEvent = {
  type: "MergeRequestCanceled",
  data: { canceledById: by, canceledAt: at },
};
export const mergeId = "6f5e4d3c-2b1a-4098-8f7e-6d5c4b3a2918";
export const otherMergeId = "7a5e4d3c-2b1a-4098-8f7e-6d5c4b3a2918";
export const merge = {
  mergeId,
  strategy: "MERGE_COMMIT",
  targetBranch: "main",
  targetBefore: second,
  sourceCommit: first,
  mergeCommit: third,
  removeSourceBranch: false,
} as const;
export const begun = (begunAt = at, id = mergeId): MergeRequestEvent => ({
  type: "MergeRequestMergeBegun",
  data: { ...merge, mergeId: id, begunById: by, begunAt },
});
export const abandoned: MergeRequestEvent = {
  type: "MergeRequestMergeAbandoned",
  data: { mergeId, abandonedAt: at },
};
export const merged: MergeRequestEvent = {
  type: "MergeRequestMerged",
  data: { mergeId, mergeCommit: third, mergedById: by, mergedAt: at },
};
export const byPush = {
  ...{ mergeId, targetBranch: "main", targetBefore: second, sourceCommit: first },
  ...{ mergeCommit: third, unmetRequirements: ["HAS_ALL_APPROVERS"] },
};
export const mergedByPush: MergeRequestEvent = {
  type: "MergeRequestMergedByPush",
  data: { ...byPush, mergedById: by, mergedAt: at },
};
export const autoMerge: Extract<MergeRequestEvent, { type: "MergeRequestAutoMergeSet" }> = {
  type: "MergeRequestAutoMergeSet",
  data: {
    sourceCommit: first,
    choice: {
      strategy: "SQUASH",
      removeSourceBranch: true,
      mergeCommitMessage: null,
      squashCommitMessage: null,
    },
    setById: by,
    setAt: at,
  },
};
export type ClearedReason = "PUSH" | "CLOSED" | "TARGET_CHANGED" | "CANCELED" | "REFUSED";
export const cleared = (
  reason: ClearedReason,
  refusal?: Readonly<{ code: string; message: string }>,
): MergeRequestEvent => ({
  type: "MergeRequestAutoMergeCleared",
  data: { reason, ...(refusal && { refusal }), clearedAt: at },
});
