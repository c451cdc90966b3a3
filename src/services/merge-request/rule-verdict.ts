import type { Knex } from "knex";

import type { UserId } from "../../events/core/ids.ts";
import type { ApprovalConfiguration } from "../../events/merge-request/approval-rule.ts";
import type { Repository } from "../../git/repository.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import {
  type AppliedRule,
  type Approver,
  barredFromApproving,
  countingApprovers,
  possibleApprovers,
} from "./approver.ts";
import type { Comparison } from "./compare.ts";
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

export type JudgingRules = Readonly<{
  db: Knex;
  project: ProjectRow;
  /** Undefined where there is none yet: nobody is barred. */
  repository: Repository | undefined;
  row: Pick<MergeRequestRow, "id" | "author_id" | "source_commit">;
  configuration: ApprovalConfiguration;
  rules: readonly AppliedRule[];
  comparison: Comparison | undefined;
  /** Those who approved, where it is not about now. */
  approverIds?: ReadonlySet<UserId> | undefined;
}>;

/** Whose approvals of a request count, who may give none, and what its rules lack. */
export async function judgeRules(judging: JudgingRules) {
  const { db, project, repository, row, configuration, rules, comparison } = judging;
  const barred: ReadonlySet<string> =
    repository === undefined
      ? new Set()
      : await barredFromApproving(db, repository, row, comparison, configuration);
  const { approverIds } = judging;
  const approvers = await countingApprovers(db, project, row, { rules, barred, approverIds });
  const verdicts = await ruleVerdicts(db, project, rules, { approvers, barred });
  return { barred, approvers, verdicts };
}

/**
 * Judges each rule by itself. Of users who are gone, banned or without a role no approval is awaited; of those whom the
 * configuration bars from this request it is, so that nobody gets around a rule by being its only approver.
 */
async function ruleVerdicts(
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
