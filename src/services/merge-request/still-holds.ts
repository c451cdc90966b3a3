import { isDeepStrictEqual } from "node:util";
import type { Knex } from "knex";

import { changedMeanwhile } from "../../commands/merge-request/merge-request.ts";
import type { UserId } from "../../events/core/ids.ts";
import type { Role } from "../../events/core/role.ts";
import type { ApprovalRule } from "../../events/merge-request/approval-rule.ts";
import { approvalConfigurationOf } from "../../projections/merge-request/approval-rule.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import { possibleApprovers, rulesOf } from "./approver.ts";
import { type Judgement, verdictsOf } from "./judge.ts";
import { pipelineRequirements } from "./pipeline-verdict.ts";

type Merger = Readonly<{ project: Pick<ProjectRow, "id">; userId: UserId; role: Role | undefined }>;

/**
 * A merge may take long to make. Compares what it was judged by outside of the request's stream with what holds
 * now: the roles of the merger and of the approvers, the configuration, the rules and the pipelines. Runs no git.
 * The stream is compared when the merge begins, branches and their protection when the ref moves.
 *
 * @throws Refusal 409 `merge_request.changed`, after which the request is judged again
 */
export async function mustStillHold(
  db: Knex,
  { project: { id }, userId, role }: Merger,
  row: MergeRequestRow,
  judgement: Judgement,
): Promise<void> {
  const { configuration, rules, approvers, targetHead, comparison } = judgement;
  const project = await findProjectById(db, id);
  if (project === undefined || configuration === undefined) throw changedMeanwhile();
  const approverIds = approvers.map(({ userId }) => userId);
  const [verdicts, ...now] = await Promise.all([
    verdictsOf(db, row, targetHead, comparison),
    actingRole(db, project, userId),
    approvalConfigurationOf(db, { project }),
    rulesOf(db, project, row, configuration).then(inOrder),
    possibleApprovers(db, project, rules, approverIds),
  ]);
  const met = Object.values(pipelineRequirements(configuration, verdicts));
  const before = [role, configuration, inOrder(rules), approvers];
  if (!met.every(Boolean) || !isDeepStrictEqual(now, before)) throw changedMeanwhile();
}

/** Queries give them in no order of their own. */
const inOrder = (rules: readonly ApprovalRule[]): readonly string[] =>
  rules.map((rule) => JSON.stringify(rule)).sort();

/** The merger and the target as they are now. */
export async function withRoleNow<Order extends Merger>(db: Knex, order: Order): Promise<Order> {
  const project = await findProjectById(db, order.project.id);
  const role = project && (await actingRole(db, project, order.userId));
  return { ...order, ...(project && { project }), role };
}
