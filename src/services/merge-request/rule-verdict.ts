import type { Knex } from "knex";

import type { ProjectRow } from "../../projections/project/project.ts";
import { type AppliedRule, type Approver, possibleApprovers } from "./approver.ts";
import type { Reason } from "./requirement.ts";

/** How far a rule is from being fulfilled. */
export type RuleVerdict = Readonly<{
  rule: AppliedRule;
  /** Those whose approvals count for it. */
  approved: readonly Approver[];
  /** Those who could approve as well. */
  mayApprove: readonly Approver[];
  /** As many as the rule demands, but no more than could approve whatever the request brings. */
  needed: number;
  isFulfilled: boolean;
  /** Those who are left are too few. */
  isUnmeetable: boolean;
}>;

type Approvals = Readonly<{
  approvers: readonly Approver[];
  /** Who may not approve this request. */
  barred: ReadonlySet<string>;
}>;

/**
 * Judges each rule by itself. Of users who are gone, banned or without a role no approval is awaited; of those whom the
 * configuration bars from this request it is, so that nobody gets around a rule by being its only approver.
 */
export async function ruleVerdicts(
  db: Knex,
  project: ProjectRow,
  rules: readonly AppliedRule[],
  { approvers, barred }: Approvals,
): Promise<readonly RuleVerdict[]> {
  const ids = [...new Set(rules.flatMap(({ allowedApproverIds }) => allowedApproverIds))];
  const able = await possibleApprovers(db, project, rules, ids);
  return rules.map((rule) => {
    const names = ({ userId }: Approver) => rule.allowedApproverIds.includes(userId);
    const possible = able.filter(names);
    const left = possible.filter(({ userId }) => !barred.has(userId));
    const approved = approvers.filter(names);
    const needed = Math.min(rule.minimalApprovals, possible.length);
    return {
      rule,
      approved,
      mayApprove: left.filter(({ userId }) => !approved.some((one) => one.userId === userId)),
      needed,
      isFulfilled: approved.length >= rule.minimalApprovals,
      isUnmeetable: left.length < rule.minimalApprovals,
    };
  });
}

/** Whether a merge has to wait for the rule, or for an ADMIN who changes it. */
export const blocks = ({ approved, needed }: RuleVerdict): boolean => approved.length < needed;

export function ruleReason({ rule, approved, needed, mayApprove }: RuleVerdict): Reason {
  const { name } = rule;
  const field = "HAS_ALL_APPROVERS";
  if (approved.length + mayApprove.length < needed) {
    const message = `The rule "${name}" needs approvals that nobody who is left may give: an ADMIN has to change it.`;
    return { field, code: "approval.unmeetable", message, rule: name };
  }
  const message = `The rule "${name}" needs ${needed} approvals and has ${approved.length}.`;
  return { field, code: "approval.missing", message, rule: name };
}
