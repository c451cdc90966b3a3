import { z } from "zod";
import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, MergeRequestId, ObjectId, ProjectId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";
import { LabelId } from "../label/label.ts";
import { ApprovalRule } from "./approval-rule.ts";
import { MergeStrategy } from "./merge-setting.ts";

/** What its author and the developers of the project may edit. */
export const MergeRequestDetails = z.object({
  title: z.string().min(1),
  description: z.string(),
  removeSourceBranch: z.boolean(),
  squashCommit: z.boolean(),
  workInProgress: z.boolean(),
  assignedUserIds: z.array(UserId),
  reviewerIds: z.array(UserId),
  labelIds: z.array(LabelId),
});
export type MergeRequestDetails = Readonly<z.output<typeof MergeRequestDetails>>;

/** The same before or after an edit: the description is long, and left out of both where it stays. */
export const EditedDetails = MergeRequestDetails.partial({ description: true });
export type EditedDetails = Readonly<z.output<typeof EditedDetails>>;

/** How a merge shall be made, as far as the caller chose. */
export const MergeChoice = z.object({
  strategy: MergeStrategy,
  removeSourceBranch: z.boolean(),
  mergeCommitMessage: z.string().nullable(),
  squashCommitMessage: z.string().nullable(),
});
export type MergeChoice = Readonly<z.output<typeof MergeChoice>>;

export const mergeRequestEvents = {
  MergeRequestOpened: z.object({
    mergeRequestId: MergeRequestId,
    /** Of the target branch. */
    projectId: ProjectId,
    sourceProjectId: ProjectId,
    /** What follows `refs/heads/`, of both branches. */
    sourceBranch: z.string().min(1),
    targetBranch: z.string().min(1),
    /** Head of the source branch. */
    sourceCommit: ObjectId,
    details: MergeRequestDetails,
    /** It counts for the author, who was no member of the project; absent: for the project. */
    broughtBytes: z.int().positive().optional(),
    openedById: UserId,
    openedAt: IsoInstant,
  }),
  MergeRequestEdited: z.object({
    projectId: ProjectId,
    details: EditedDetails,
    previousDetails: EditedDetails,
    editedById: UserId,
    editedAt: IsoInstant,
  }),
  MergeRequestRetargeted: z.object({
    targetBranch: z.string().min(1),
    previousTargetBranch: z.string().min(1),
    retargetedById: UserId,
    retargetedAt: IsoInstant,
  }),
  /** The source branch has another head. */
  MergeRequestSourceMoved: z.object({
    sourceCommit: ObjectId,
    previousSourceCommit: ObjectId,
    /** What the request has brought in all that counts for its author; absent: as much as before. */
    broughtBytes: z.int().positive().optional(),
    movedAt: IsoInstant,
  }),
  MergeRequestApproved: z.object({
    approverId: UserId,
    /** What was approved. */
    sourceCommit: ObjectId,
    approvedAt: IsoInstant,
  }),
  MergeRequestApprovalWithdrawn: z.object({ approverId: UserId, withdrawnAt: IsoInstant }),
  /** By the system, because what was approved has changed. */
  MergeRequestApprovalsRemoved: z.object({
    approverIds: z.array(UserId),
    reason: z.enum(["PUSH", "TARGET_CHANGED"]),
    removedAt: IsoInstant,
  }),
  /** Rules of its own, in the place of those of the project; null: those of the project again. */
  MergeRequestApprovalRulesReplaced: z.object({
    rules: z.array(ApprovalRule).nullable(),
    replacedById: UserId,
    replacedAt: IsoInstant,
  }),
  MergeRequestClosed: z.object({ closedById: UserId, closedAt: IsoInstant }),
  MergeRequestReopened: z.object({ reopenedById: UserId, reopenedAt: IsoInstant }),
  MergeRequestCanceled: z.object({ canceledById: UserId, canceledAt: IsoInstant }),
  /** The merge is to be made as soon as the pipeline of this commit has succeeded. */
  MergeRequestAutoMergeSet: z.object({
    sourceCommit: ObjectId,
    choice: MergeChoice,
    setById: UserId,
    setAt: IsoInstant,
  }),
  MergeRequestAutoMergeCleared: z.object({
    reason: z.enum(["CANCELED", "PUSH", "TARGET_CHANGED", "CLOSED", "REFUSED"]),
    /** What the merge was refused with. */
    refusal: z.object({ code: z.string(), message: z.string() }).optional(),
    clearedAt: IsoInstant,
  }),
  /** The commit is made; the target branch is moved to it next. */
  MergeRequestMergeBegun: z.object({
    /** Command id of the change of the target branch. */
    mergeId: z.uuid(),
    strategy: MergeStrategy,
    targetBranch: z.string().min(1),
    targetBefore: ObjectId,
    sourceCommit: ObjectId,
    mergeCommit: ObjectId,
    removeSourceBranch: z.boolean(),
    begunById: UserId,
    begunAt: IsoInstant,
  }),
  /** The target branch was not moved. */
  MergeRequestMergeAbandoned: z.object({ mergeId: z.uuid(), abandonedAt: IsoInstant }),
  MergeRequestMerged: z.object({
    mergeId: z.uuid(),
    mergeCommit: ObjectId,
    mergedById: UserId,
    mergedAt: IsoInstant,
  }),
  /** A push to the target brought what the source has, whether or not a merge would have been allowed. */
  MergeRequestMergedByPush: z.object({
    mergeId: z.uuid(),
    targetBranch: z.string().min(1),
    targetBefore: ObjectId,
    sourceCommit: ObjectId,
    /** The commit of the target that brought it. */
    mergeCommit: ObjectId,
    /** Requirements of a merge that the pusher did not meet. */
    unmetRequirements: z.array(z.string()),
    /** Who pushed; null: nobody is known to have. */
    mergedById: UserId.nullable(),
    mergedAt: IsoInstant,
  }),
  /** Of one that ended unmerged: the project keeps its versions no more. */
  MergeRequestRefsDeleted: z.object({ deletedById: UserId, deletedAt: IsoInstant }),
  /** Git could not make the merge, for another reason than a conflict. */
  MergeRequestFailed: z.object({ reason: z.string(), failedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type MergeRequestEvent = EventOf<typeof mergeRequestEvents>;

export const mergeRequestStream = (id: string): string => streamName("mergeRequest", id);

/** Versions of the source are kept in the target project under this ref, which nobody can push. */
const mergeRequestPrefix = "refs/merge-requests/";
export const headRefOf = (localId: number): string => `${mergeRequestPrefix}${localId}/head`;
export const mergeRefOf = (localId: number): string => `${mergeRequestPrefix}${localId}/merge`;
