import type { UserId } from "../../events/core/ids.ts";
import type { ParentType } from "../../events/core/role.ts";
import {
  type ApprovalConfiguration,
  type ApprovalRule,
  approvalConfigurationDefault,
  approvalEvents,
  approvalStream,
} from "../../events/merge-request/approval-rule.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type Stamp = Readonly<{ by: UserId; at: string }>;
type Parent = Readonly<{ parentId: string; parentType: ParentType }>;

export type ApprovalCommand =
  | (Stamp & Parent & Readonly<{ type: "CreateApprovalRule"; ruleId: string; rule: ApprovalRule }>)
  | (Stamp & Readonly<{ type: "EditApprovalRule"; ruleId: string; change: Partial<ApprovalRule> }>)
  | (Stamp & Readonly<{ type: "DeleteApprovalRule"; ruleId: string }>)
  | (Stamp &
      Parent &
      Readonly<{
        type: "ChangeApprovalConfiguration";
        change: Partial<ApprovalConfiguration>;
        /** What holds there now without a configuration of its own. */
        inherited?: ApprovalConfiguration;
      }>);

type State = Readonly<{
  rules: ReadonlyMap<string, ApprovalRule>;
  configuration: ApprovalConfiguration | undefined;
}>;

export const approval: Slice<State, ApprovalCommand, typeof approvalEvents> = {
  events: approvalEvents,
  stream: approvalStream,
  initialState: { rules: new Map(), configuration: undefined },

  decide(state, command) {
    const { by, at } = command;
    switch (command.type) {
      case "CreateApprovalRule": {
        const { ruleId, parentId, parentType, rule } = command;
        mustBeReachable(rule);
        const data = { ruleId, parentId, parentType, rule, createdById: by, createdAt: at };
        return [{ type: "ApprovalRuleCreated", data }];
      }
      case "EditApprovalRule": {
        const { ruleId, change } = command;
        const previous = mustBeThere(state, ruleId);
        const rule = { ...previous, ...change };
        mustBeReachable(rule);
        if (JSON.stringify(rule) === JSON.stringify(previous)) return [];
        const data = { ruleId, rule, previous, editedById: by, editedAt: at };
        return [{ type: "ApprovalRuleEdited", data }];
      }
      case "DeleteApprovalRule": {
        const { ruleId } = command;
        const rule = mustBeThere(state, ruleId);
        const data = { ruleId, rule, deletedById: by, deletedAt: at };
        return [{ type: "ApprovalRuleDeleted", data }];
      }
      case "ChangeApprovalConfiguration": {
        const { parentId, parentType, change, inherited } = command;
        const previous = state.configuration ?? inherited ?? approvalConfigurationDefault;
        const configuration = { ...previous, ...change };
        if (JSON.stringify(configuration) === JSON.stringify(previous)) return [];
        const changed = { changedById: by, changedAt: at };
        const data = { parentId, parentType, configuration, previous, ...changed };
        return [{ type: "ApprovalConfigurationChanged", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "ApprovalRuleCreated":
      case "ApprovalRuleEdited": {
        const { ruleId, rule } = event.data;
        return { ...state, rules: new Map(state.rules).set(ruleId, rule) };
      }
      case "ApprovalRuleDeleted": {
        const rules = new Map(state.rules);
        rules.delete(event.data.ruleId);
        return { ...state, rules };
      }
      case "ApprovalConfigurationChanged":
        return { ...state, configuration: event.data.configuration };
      default:
        return unreachable(event);
    }
  },
};

/** More approvals than people who may give them would never come. */
export function mustBeReachable({ minimalApprovals, allowedApproverIds }: ApprovalRule): void {
  if (minimalApprovals <= new Set(allowedApproverIds).size) return;
  const message = "There are fewer approvers than required approvals.";
  throw new Refusal("unprocessable", "approval.unreachable", message, {
    errors: [{ field: "minimalApprovals", code: "approval.unreachable", message }],
  });
}

function mustBeThere({ rules }: State, ruleId: string): ApprovalRule {
  const rule = rules.get(ruleId);
  if (rule !== undefined) return rule;
  throw new Refusal("not_found", "approval.not_found", "Approval rule not found.");
}
