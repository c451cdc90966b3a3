import type { MergeRequestId, ObjectId, ProjectId, UserId } from "../../events/core/ids.ts";
import type { ApprovalRule } from "../../events/merge-request/approval-rule.ts";
import type { MergeChoice, MergeRequestDetails } from "../../events/merge-request/merge-request.ts";
import type { MergeStrategy } from "../../events/merge-request/merge-setting.ts";

/** The target project that the caller found the request under. */
type Within = Readonly<{ projectId: ProjectId; by: UserId; at: string }>;
type BySystem = Readonly<{ at: string }>;

/** Why a merge that was awaited is not made. */
export type RefusedMerge = Readonly<{ code: string; message: string }>;

/** What of the request itself a merge was judged by, beside its source and target. */
export type JudgedRequest = Readonly<{
  /** Title and flag say whether it is a draft. */
  title: string;
  workInProgress: boolean;
  rules: readonly ApprovalRule[] | null;
  /** Those whose approvals counted. */
  approverIds: readonly UserId[];
}>;

export type MergeRequestCommand =
  | (Within &
      Readonly<{
        type: "OpenMergeRequest";
        mergeRequestId: MergeRequestId;
        sourceProjectId: ProjectId;
        sourceBranch: string;
        targetBranch: string;
        sourceCommit: ObjectId;
        details: MergeRequestDetails;
        /** As far as it counts for the author. */
        broughtBytes?: number | undefined;
      }>)
  /** What is left out stays as it is. */
  | (Within &
      Readonly<{
        type: "EditMergeRequest";
        change: Partial<MergeRequestDetails>;
        targetBranch?: string;
        mayEditMerged: boolean;
        /** Whether another target makes approvals void. */
        removesApprovals: boolean;
      }>)
  | (BySystem &
      Readonly<{
        type: "RecordSourceMove";
        sourceCommit: ObjectId;
        removesApprovals: boolean;
        /** By this move, as far as it counts for the author. */
        broughtBytes?: number | undefined;
      }>)
  /** Approves, or takes the approval back; `seen`: only while this is the head of the source. */
  | (Within & Readonly<{ type: "ToggleApproval"; seen?: ObjectId }>)
  | (Within & Readonly<{ type: "ReplaceApprovalRules"; rules: readonly ApprovalRule[] | null }>)
  | (Within & Readonly<{ type: "CloseMergeRequest" }>)
  | (Within & Readonly<{ type: "ReopenMergeRequest" }>)
  | (Within & Readonly<{ type: "CancelMergeRequest" }>)
  | (Within & Readonly<{ type: "DeleteMergeRequestRefs" }>)
  | (Within & Readonly<{ type: "SetAutoMerge"; sourceCommit: ObjectId; choice: MergeChoice }>)
  | (BySystem & Readonly<{ type: "ClearAutoMerge"; reason: "CANCELED" }>)
  | (BySystem & Readonly<{ type: "ClearAutoMerge"; reason: "REFUSED"; refusal: RefusedMerge }>)
  | (Within &
      Readonly<{
        type: "BeginMerge";
        mergeId: string;
        strategy: MergeStrategy;
        targetBranch: string;
        targetBefore: ObjectId;
        sourceCommit: ObjectId;
        mergeCommit: ObjectId;
        removeSourceBranch: boolean;
        judged: JudgedRequest;
      }>)
  | (BySystem & Readonly<{ type: "AbandonMerge"; mergeId: string }>)
  | (BySystem & Readonly<{ type: "RecordMerge"; mergeId: string }>)
  | (BySystem &
      Readonly<{
        type: "RecordMergeByPush";
        mergeId: string;
        targetBranch: string;
        targetBefore: ObjectId;
        sourceCommit: ObjectId;
        mergeCommit: ObjectId;
        unmetRequirements: readonly string[];
        by: UserId | null;
      }>)
  | (BySystem & Readonly<{ type: "RecordFailure"; reason: string }>);

export type CommandOf<Type extends MergeRequestCommand["type"]> = Extract<
  MergeRequestCommand,
  { type: Type }
>;
