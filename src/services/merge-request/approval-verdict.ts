import type { Knex } from "knex";

import type { ApprovalRule } from "../../events/merge-request/approval-rule.ts";
import type { Repository } from "../../git/repository.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { type Approver, possibleApprovers } from "./approver.ts";
import { type OwnerDemands, type OwnersAgreement, ownerDemands, ownersAgree } from "./owners.ts";
import type { Reason, Requirements } from "./requirement.ts";
import { blocks, type JudgingRules, judgeRules, ruleReason } from "./rule-verdict.ts";

type Approving = JudgingRules &
  Readonly<{
    repository: Repository;
    /** Of the target. */
    head: string;
  }>;

type ApprovalVerdict = Readonly<{
  approvers: readonly Approver[];
  requirements: Pick<Requirements, "HAS_ALL_APPROVERS" | "HAS_ALL_CODEOWNERS">;
  reasons: readonly Reason[];
}>;

/** What the rules and the owners of the files say of a request. */
export async function approvalVerdict(approving: Approving): Promise<ApprovalVerdict> {
  const { db, project, repository, row, configuration, rules, comparison, head } = approving;
  const { approvers, verdicts } = await judgeRules(approving);
  const blocking = verdicts.filter(blocks);
  // Commits say who made them but do not prove it, so they rid nobody of being an owner.
  const excluded = configuration.preventAuthorApproving ? row.author_id : undefined;
  const owners = { approvers, excluded, mayApprove: ableAmong(db, project, rules) };
  const owning = comparison && (await ownerDemands(repository, head, comparison));
  const agreement = owning?.demands && (await ownersAgree(db, project, owning.demands, owners));
  return {
    approvers,
    requirements: {
      HAS_ALL_APPROVERS: blocking.length === 0,
      HAS_ALL_CODEOWNERS: owning === undefined || agreement === "agreed",
    },
    reasons: [...blocking.map(ruleReason), ...ownerReasons(owning, agreement)],
  };
}

/** Which of these users may approve a request now, unless they are barred from this one. */
function ableAmong(db: Knex, project: ProjectRow, rules: readonly ApprovalRule[]) {
  return async (userIds: readonly string[]): Promise<ReadonlySet<string>> => {
    const able = await possibleApprovers(db, project, rules, userIds);
    return new Set(able.map(({ userId }) => userId));
  };
}

function ownerReasons(
  owning: OwnerDemands | undefined,
  agreement: OwnersAgreement | undefined,
): readonly Reason[] {
  const field = "HAS_ALL_CODEOWNERS";
  if (owning !== undefined && owning.demands === undefined) {
    return [{ field, code: owning.code, message: owning.message }];
  }
  if (agreement !== "unmeetable") return [];
  const message =
    "Files are owned by the author alone, who may not approve here: an ADMIN has to change that.";
  return [{ field, code: "code_owners.unmeetable", message }];
}
