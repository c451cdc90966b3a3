import type { Knex } from "knex";
import type { UserId } from "../../events/core/ids.ts";
import type { ParentType } from "../../events/core/role.ts";
import {
  type ApprovalConfiguration,
  type ApprovalRule,
  approvalConfigurationDefault,
  approvalEvents,
} from "../../events/merge-request/approval-rule.ts";
import { matchesTemplate } from "../../platform/name-template.ts";
import { change, put, remove, removeAll } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { type Below, handedDown } from "../instance/template-setting.ts";
import { type Part, partOf, type Slice } from "../list/list-rows.ts";

const rules = defineTable({
  name: "approval_rule",
  columns: {
    id: "uuid",
    parent_id: "uuid",
    parent_type: column<ParentType>("text"),
    name: "text",
    /** A template of names. */
    target_branch: "text",
    minimal_approvals: "integer",
    approver_ids: column<readonly UserId[]>("uuid[]"),
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(parent_id, created_at, id)"],
});

export type ApprovalRuleRow = RowOf<typeof rules>;

const configurations = defineTable({
  name: "approval_configuration",
  columns: { parent_id: "uuid", configuration: column<ApprovalConfiguration>("jsonb") },
  key: ["parent_id"],
});

type ConfigurationRow = RowOf<typeof configurations>;

export const approvalProjection = defineReadModel({
  name: "approval",
  version: 3,
  tables: [rules, configurations],
  events: { ...approvalEvents, ...purgeEvents },
  effects: {
    ApprovalRuleCreated: ({ data }) =>
      put(rules, {
        id: data.ruleId,
        parent_id: data.parentId,
        parent_type: data.parentType,
        ...columnsOf(data.rule),
        created_at: new Date(data.createdAt),
      }),
    ApprovalRuleEdited: ({ data: { ruleId: id, rule } }) => change(rules, { id }, columnsOf(rule)),
    ApprovalRuleDeleted: ({ data: { ruleId: id } }) => remove(rules, { id }),
    ApprovalConfigurationChanged: ({ data: { parentId: parent_id, configuration } }) =>
      put(configurations, { parent_id, configuration }),
    ProjectPurged: ({ data: { projectId: parent_id } }) =>
      removeAll([rules, configurations], { parent_id }),
  },
});

const columnsOf = ({ name, targetBranch, minimalApprovals, allowedApproverIds }: ApprovalRule) => ({
  name,
  target_branch: targetBranch,
  minimal_approvals: minimalApprovals,
  approver_ids: allowedApproverIds,
});

/** Those that hold in a project, handed down ones among them; or a team's or company's own. */
export type ApprovalScope = Readonly<{ project: Below }> | Readonly<{ parentId: string }>;

const rulesIn = (db: Knex, scope: ApprovalScope) =>
  db<ApprovalRuleRow>("approval_rule").where((query) => {
    if ("project" in scope) {
      handedDown(db, "approval_rule", scope.project, "import_approval")(query);
    } else query.where("approval_rule.parent_id", scope.parentId);
  });

export function listApprovalRules(
  db: Knex,
  scope: ApprovalScope,
  part: Part,
): Promise<Slice<ApprovalRuleRow>> {
  const inOrder = (rows: Knex.QueryBuilder) =>
    rows.select("approval_rule.*").orderBy(["created_at", "id"]);
  return partOf(() => rulesIn(db, scope), inOrder, part);
}

/** Undefined for a rule of something else. */
export function findApprovalRule(
  db: Knex,
  scope: ApprovalScope,
  id: string,
): Promise<ApprovalRuleRow | undefined> {
  return rulesIn(db, scope).where("approval_rule.id", id).first<ApprovalRuleRow | undefined>();
}

/** The rules that a merge request into this branch of the project has to satisfy, each by itself. */
export async function approvalRulesFor(
  db: Knex,
  project: Below,
  targetBranch: string,
): Promise<readonly ApprovalRuleRow[]> {
  const rows = await rulesIn(db, { project }).select<ApprovalRuleRow[]>("approval_rule.*");
  return rows.filter(({ target_branch }) => matchesTemplate(target_branch, targetBranch));
}

/** What the switches say where they demand or forbid most; one that is not here demands nothing. */
const strictest: Partial<ApprovalConfiguration> = {
  canOverrideApprovals: false,
  preventAuthorApproving: true,
  preventCommitterApproving: true,
  requirePasswordToApprove: true,
  removeApprovalsOnPush: true,
  checkCiCdStatus: true,
  editMergedMergeRequest: false,
  removeApprovalsOnChangingTargetBranch: true,
  branchPipelineStatusCheckEnabled: true,
  mergeRequestPipelineStatusCheckEnabled: true,
  mergeResultPipelineStatusCheckEnabled: true,
};

/**
 * What holds in a project: of its own configuration and those that its team and company hand down the
 * stricter value of each switch, and of `enableRemoveSourceBranchByDefault`, which demands nothing, the
 * nearest; else the default. For a team or company: its own, or the default.
 */
export async function approvalConfigurationOf(
  db: Knex,
  scope: ApprovalScope,
): Promise<ApprovalConfiguration> {
  const rows = await db<ConfigurationRow>("approval_configuration")
    .where((query) => {
      if ("project" in scope) {
        handedDown(db, "approval_configuration", scope.project, "import_approval")(query);
      } else query.where("parent_id", scope.parentId);
    })
    .select("parent_id", "configuration");
  const nearest =
    "project" in scope
      ? [scope.project.id, scope.project.owner_id, scope.project.owner_company_id]
      : [scope.parentId];
  const [own, ...above] = nearest.flatMap((id) =>
    rows.filter(({ parent_id }) => parent_id === id).map(({ configuration }) => configuration),
  );
  return own === undefined ? approvalConfigurationDefault : above.reduce(stricterOf, own);
}

function stricterOf(near: ApprovalConfiguration, far: ApprovalConfiguration) {
  const kept = Object.entries(strictest).filter(
    ([name, value]) => far[name as keyof ApprovalConfiguration] === value,
  );
  return { ...near, ...Object.fromEntries(kept) };
}
