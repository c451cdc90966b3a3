import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { ParentType } from "../core/role.ts";
import { streamName } from "../core/stream.ts";

/** Merge requests into branches that fit need so many approvals of these people. */
export const ApprovalRule = z.object({
  targetBranch: z.string(),
  name: z.string(),
  minimalApprovals: z.int().nonnegative(),
  allowedApproverIds: z.array(UserId),
});
export type ApprovalRule = Readonly<z.output<typeof ApprovalRule>>;

export const ApprovalConfiguration = z.object({
  canOverrideApprovals: z.boolean(),
  preventAuthorApproving: z.boolean(),
  preventCommitterApproving: z.boolean(),
  requirePasswordToApprove: z.boolean(),
  removeApprovalsOnPush: z.boolean(),
  checkCiCdStatus: z.boolean(),
  editMergedMergeRequest: z.boolean(),
  enableRemoveSourceBranchByDefault: z.boolean(),
  removeApprovalsOnChangingTargetBranch: z.boolean(),
  branchPipelineStatusCheckEnabled: z.boolean(),
  mergeRequestPipelineStatusCheckEnabled: z.boolean(),
  mergeResultPipelineStatusCheckEnabled: z.boolean(),
});
export type ApprovalConfiguration = Readonly<z.output<typeof ApprovalConfiguration>>;

/** Nothing is required by default; stale approvals never count. */
export const approvalConfigurationDefault: ApprovalConfiguration = {
  canOverrideApprovals: false,
  preventAuthorApproving: false,
  preventCommitterApproving: false,
  requirePasswordToApprove: false,
  removeApprovalsOnPush: true,
  checkCiCdStatus: false,
  editMergedMergeRequest: false,
  enableRemoveSourceBranchByDefault: false,
  removeApprovalsOnChangingTargetBranch: true,
  branchPipelineStatusCheckEnabled: false,
  mergeRequestPipelineStatusCheckEnabled: false,
  mergeResultPipelineStatusCheckEnabled: false,
};

const parent = { parentId: z.uuid(), parentType: ParentType };

export const approvalEvents = {
  ApprovalRuleCreated: z.object({
    ruleId: z.uuid(),
    ...parent,
    rule: ApprovalRule,
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  ApprovalRuleEdited: z.object({
    ruleId: z.uuid(),
    rule: ApprovalRule,
    previous: ApprovalRule,
    editedById: UserId,
    editedAt: IsoInstant,
  }),
  ApprovalRuleDeleted: z.object({
    ruleId: z.uuid(),
    rule: ApprovalRule,
    deletedById: UserId,
    deletedAt: IsoInstant,
  }),
  ApprovalConfigurationChanged: z.object({
    ...parent,
    configuration: ApprovalConfiguration,
    previous: ApprovalConfiguration,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type ApprovalEvent = EventOf<typeof approvalEvents>;

/** All rules and the configuration of one company, team or project. */
export const approvalStream = (parentId: string): string => streamName("approval", parentId);
