import type { Knex } from "knex";
import { z } from "zod";
import { defined } from "../../../commands/core/defined.ts";
import { type ApprovalCommand, approval } from "../../../commands/merge-request/approval-rule.ts";
import { UserId, Uuid } from "../../../events/core/ids.ts";
import { ApprovalConfiguration } from "../../../events/merge-request/approval-rule.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { templateLengthMax } from "../../../platform/name-template.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { templateSettingProjection } from "../../../projections/instance/template-setting.ts";
import {
  type ApprovalRuleRow,
  type ApprovalScope,
  approvalConfigurationOf,
  approvalProjection,
  findApprovalRule,
  listApprovalRules,
} from "../../../projections/merge-request/approval-rule.ts";
import { findUsersById } from "../../../projections/user/user.ts";
import type { Resolved } from "../../access/gate.ts";
import {
  type OwnerScope,
  ownerScopes,
  parentOf,
  readingAt,
  writingAt,
} from "../../access/owner-scope.ts";
import { stamped, stampOf, type Unstamped } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, int, oneLine } from "../../core/schema.ts";
import { UserView, userView } from "../user/view.ts";

const approversMax = 100;

const ApprovalRuleView = z
  .object({
    uuid: z.uuid(),
    targetBranch: z.string(),
    name: z.string(),
    minimalApprovals: z.int(),
    allowedApprovers: z.array(UserView),
  })
  .meta({ id: "ApprovalRule" });

const ruleFields = {
  targetBranch: z
    .string()
    .trim()
    .min(1)
    .max(templateLengthMax)
    .meta({ description: "`*` any run without `/`, `**` any run, `?` one character." }),
  name: oneLine(255),
  minimalApprovals: int({ min: 0, max: approversMax }),
  allowedApproversUuid: z.array(UserId).max(approversMax),
};
const NewApprovalRule = z.object(ruleFields).meta({ id: "NewApprovalRule" });
const ApprovalRuleChange = z
  .object({ uuid: Uuid, ...z.object(ruleFields).partial().shape })
  .meta({ id: "ApprovalRuleChange", description: "What is not given stays as it is." });

const ApprovalConfigurationView = ApprovalConfiguration.meta({ id: "ApprovalConfiguration" });
const ApprovalConfigurationChange = z
  .object(
    Object.fromEntries(
      Object.keys(ApprovalConfiguration.shape).map((key) => [key, bool().optional()]),
    ),
  )
  .meta({ id: "ApprovalConfigurationChange", description: "What is not given stays as it is." });

const at = ({ base }: OwnerScope) => `${base}/merge-request/approval` as const;

/** Rules, and whether those from above count. */
const rulesThen = {
  readModels: [approvalProjection, templateSettingProjection],
  above: true,
} as const;

function listRules(ownerScope: OwnerScope): Route {
  return route({
    ...readingAt(ownerScope, "ADMIN"),
    method: "get",
    path: `${at(ownerScope)}/rule`,
    operationId: `list${ownerScope.noun}ApprovalRules`,
    summary: `List the approval rules of a ${ownerScope.resource}`,
    list: "restMergeRequestApprovalRuleList",
    asOf: rulesThen,
    reply: ApprovalRuleView,
    async handle({ page, request }, { db }) {
      const { rows, total } = await listApprovalRules(db, scopeOf(request), page);
      return { items: await viewOf(db, rows), totalElements: total };
    },
  });
}

function getRule(ownerScope: OwnerScope): Route {
  return route({
    ...readingAt(ownerScope, "ADMIN"),
    method: "get",
    path: `${at(ownerScope)}/rule/{approvalRuleUuid}`,
    operationId: `get${ownerScope.noun}ApprovalRule`,
    summary: `Get an approval rule of a ${ownerScope.resource}`,
    asOf: rulesThen,
    reply: ApprovalRuleView,
    handle: ({ params, request }, { db }) =>
      findView(db, scopeOf(request), params.approvalRuleUuid),
  });
}

function createRule(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "post",
    path: `${at(ownerScope)}/rule/create`,
    operationId: `create${ownerScope.noun}ApprovalRule`,
    summary: `Create an approval rule of a ${ownerScope.resource}`,
    body: NewApprovalRule,
    reply: ApprovalRuleView,
    async handle({ body: { allowedApproversUuid, ...rest }, request }, deps) {
      const allowedApproverIds = await mustBeUsers(deps.db, allowedApproversUuid);
      const ruleId = deterministicId(request.commandId, "approval rule");
      const { id: parentId, type: parentType } = parentOf(request);
      const rule = { ...rest, allowedApproverIds };
      const order = { type: "CreateApprovalRule", ruleId, parentId, parentType, rule } as const;
      await write(order, request, deps);
      return findView(deps.db, scopeOf(request), ruleId);
    },
  });
}

function editRule(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "patch",
    path: `${at(ownerScope)}/rule/edit`,
    operationId: `edit${ownerScope.noun}ApprovalRule`,
    summary: `Change an approval rule of a ${ownerScope.resource}`,
    body: ApprovalRuleChange,
    reply: ApprovalRuleView,
    async handle({ body: { uuid: ruleId, allowedApproversUuid, ...rest }, request }, deps) {
      const approvers =
        allowedApproversUuid === undefined
          ? {}
          : { allowedApproverIds: await mustBeUsers(deps.db, allowedApproversUuid) };
      const change = defined({ ...rest, ...approvers });
      await write({ type: "EditApprovalRule", ruleId, change }, request, deps);
      return findView(deps.db, scopeOf(request), ruleId);
    },
  });
}

function deleteRule(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "delete",
    path: `${at(ownerScope)}/rule/{approvalRuleUuid}`,
    operationId: `delete${ownerScope.noun}ApprovalRule`,
    summary: `Delete an approval rule of a ${ownerScope.resource}`,
    status: 204,
    reply: "empty",
    handle: ({ params, request }, deps) =>
      write({ type: "DeleteApprovalRule", ruleId: params.approvalRuleUuid }, request, deps),
  });
}

function getConfiguration(ownerScope: OwnerScope): Route {
  return route({
    ...readingAt(ownerScope, "ADMIN"),
    method: "get",
    path: `${at(ownerScope)}/configuration`,
    operationId: `get${ownerScope.noun}ApprovalConfiguration`,
    summary: `Get the approval configuration of a ${ownerScope.resource}`,
    asOf: rulesThen,
    reply: ApprovalConfigurationView,
    handle: ({ request }, { db }) => approvalConfigurationOf(db, scopeOf(request)),
  });
}

function editConfiguration(ownerScope: OwnerScope): Route {
  return route({
    ...writingAt(ownerScope, "ADMIN"),
    method: "patch",
    path: `${at(ownerScope)}/configuration/edit`,
    operationId: `edit${ownerScope.noun}ApprovalConfiguration`,
    summary: `Change the approval configuration of a ${ownerScope.resource}`,
    body: ApprovalConfigurationChange,
    reply: ApprovalConfigurationView,
    async handle({ body, request }, deps) {
      const { id: parentId, type: parentType } = parentOf(request);
      const change = defined(body);
      const inherited = await approvalConfigurationOf(deps.db, scopeOf(request));
      const type = "ChangeApprovalConfiguration";
      await write({ type, parentId, parentType, change, inherited }, request, deps);
      return approvalConfigurationOf(deps.db, scopeOf(request));
    },
  });
}

function scopeOf(request: Resolved): ApprovalScope {
  return "project" in request ? { project: request.project } : { parentId: parentOf(request).id };
}

/** A rule of another project, team or company is not found. */
async function findView(db: Knex, scope: ApprovalScope, id: string) {
  const row = await findApprovalRule(db, scope, id);
  const [view] = row === undefined ? [] : await viewOf(db, [row]);
  if (view !== undefined) return view;
  throw new Refusal("not_found", "approval.not_found", "Approval rule not found.");
}

async function viewOf(db: Knex, rows: readonly ApprovalRuleRow[]) {
  const users = await findUsersById(db, [...new Set(rows.flatMap((row) => row.approver_ids))]);
  return rows.map((row) => ({
    uuid: row.id,
    targetBranch: row.target_branch,
    name: row.name,
    minimalApprovals: row.minimal_approvals,
    allowedApprovers: row.approver_ids.flatMap((id) => users.get(id) ?? []).map(userView),
  }));
}

/** The ids without repetitions. @throws Refusal 404 when a user does not exist */
export async function mustBeUsers(db: Knex, ids: readonly UserId[]): Promise<UserId[]> {
  const unique = [...new Set(ids)];
  const users = await findUsersById(db, unique);
  if (unique.every((id) => users.has(id))) return unique;
  throw new Refusal("not_found", "user.not_found", "One of the approvers is no user.");
}

async function write(
  command: Unstamped<ApprovalCommand>,
  request: RequestContext & Resolved & Readonly<{ userId: UserId }>,
  deps: Deps,
): Promise<void> {
  const { id } = parentOf(request);
  await request.execute(approval, id, stamped<ApprovalCommand>(command, stampOf(request, deps)));
}

/** Who must approve merge requests, at projects, teams and companies. */
export const approvalRoutes: readonly Route[] = ownerScopes.flatMap((ownerScope) => [
  listRules(ownerScope),
  getRule(ownerScope),
  createRule(ownerScope),
  editRule(ownerScope),
  deleteRule(ownerScope),
  getConfiguration(ownerScope),
  editConfiguration(ownerScope),
]);
