import { z } from "zod";

import { mustBeReachable } from "../../../commands/merge-request/approval-rule.ts";
import { mergeRequest } from "../../../commands/merge-request/merge-request.ts";
import type { MergeRequestCommand } from "../../../commands/merge-request/merge-request-command.ts";
import { UserId } from "../../../events/core/ids.ts";
import { verifyPassword } from "../../../platform/identity/password.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { approvalConfigurationOf } from "../../../projections/merge-request/approval-rule.ts";
import { approvalsOf } from "../../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../../projections/merge-request/merge-request-row.ts";
import { findRef } from "../../../projections/repository/git-ref.ts";
import { findUserById, findUsersById, type UserRow } from "../../../projections/user/user.ts";
import { mayApprove, rulesOf } from "../../../services/merge-request/approver.ts";
import { compareHeads } from "../../../services/merge-request/compare.ts";
import { judgeRules, type RuleVerdict } from "../../../services/merge-request/rule-verdict.ts";
import { withNewestSource } from "../../../services/merge-request/source.ts";
import { mustSuffice } from "../../access/role-access.ts";
import { projectStampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { envelopeOf, pageInfo, pageQuery, pageRequest } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { fieldRefusal, instant, int, oneLine } from "../../core/schema.ts";
import { UserView, userView } from "../user/view.ts";
import { mustBeUsers } from "./approval-rule.ts";
import {
  at,
  findView,
  mustBeChangeable,
  mustFindMergeRequest,
  reading,
  type Writing,
  writing,
} from "./place.ts";
import { MergeRequestView, seenHead } from "./schema.ts";

const rulesMax = 50;
const approversMax = 100;

const approve = route({
  ...writing,
  method: "post",
  path: `${at}/{localId}/approve`,
  operationId: "approveMergeRequest",
  summary: "Approve a merge request, or take the approval back",
  description: "By developers, and by those whom an approval rule names.",
  body: z
    .object({ password: z.string().max(512).nullish(), sha: seenHead() })
    .meta({ id: "Approval" }),
  reply: MergeRequestView,
  async handle({ params, body, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const newest = await withNewestSource(deps, row);
    await mustMayApprove(newest, body.password ?? undefined, request, deps);
    const seen = body.sha ? { seen: body.sha } : {};
    const command = { type: "ToggleApproval", ...seen, ...projectStampOf(request, deps) } as const;
    return write(newest, command, request, deps);
  },
});

export const ApprovalView = z
  .object({
    user: UserView,
    approvedAt: instant(),
    commitId: z.string().meta({ description: "Head of the source that was approved." }),
    counts: z.boolean().meta({
      description: "Whether it counts now: roles and commits may have changed since.",
    }),
  })
  .meta({ id: "MergeRequestApproval" });

const RuleView = z
  .object({
    uuid: z.uuid().optional().meta({ description: "Absent for a rule of the request's own." }),
    name: z.string(),
    source: z.enum(["PROJECT", "TEAM", "COMPANY", "REQUEST"]),
    minimalApprovals: z.int(),
    approved: z.array(UserView),
    mayApprove: z.array(UserView).meta({ description: "Who may still approve." }),
    fulfilled: z.boolean(),
    unmeetable: z.boolean().meta({
      description:
        "Those who are left are too few. It blocks only as far as others could approve, or where the configuration bars those who could.",
    }),
  })
  .meta({ id: "MergeRequestApprovalRule" });

export const ApprovalsView = envelopeOf("mergeRequestApprovalList", ApprovalView)
  .extend({ approvedBy: z.array(ApprovalView), rules: z.array(RuleView) })
  .meta({ id: "MergeRequestApprovalState" });

const getApprovals = route({
  ...reading,
  method: "get",
  path: `${at}/{localId}/approvals`,
  operationId: "listMergeRequestApprovals",
  summary: "Get who approved a merge request, and what its rules lack",
  query: pageQuery(),
  reply: ApprovalsView,
  async handle({ params, query, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const approvals = await approvalsOf(deps.db, row.id);
    const { approvers, verdicts } = await approvalFacts(row, request, deps);
    const people = verdicts.flatMap(({ approved, mayApprove: able }) => [...approved, ...able]);
    const users = await findUsersById(deps.db, [
      ...approvals.map(({ approver_id }) => approver_id),
      ...people.map(({ userId }) => userId),
    ]);
    const approvedBy = approvals.flatMap((approval) => {
      const user = users.get(approval.approver_id);
      if (user === undefined) return [];
      const counts = approvers.some(({ userId }) => userId === approval.approver_id);
      const { approved_at: approvedAt, source_commit: commitId } = approval;
      return [{ user: userView(user), approvedAt, commitId, counts }];
    });
    const page = pageRequest(query);
    const items = approvedBy.slice(page.offset, page.offset + page.limit);
    return {
      _embedded: { mergeRequestApprovalList: items },
      page: pageInfo(page, approvedBy.length),
      approvedBy,
      rules: verdicts.map((verdict) => ruleView(verdict, users)),
    };
  },
});

function ruleView(verdict: RuleVerdict, users: ReadonlyMap<string, UserRow>) {
  const { uuid, name, source, minimalApprovals } = verdict.rule;
  const views = (approvers: RuleVerdict["approved"]) =>
    approvers.flatMap(({ userId }) => users.get(userId) ?? []).map(userView);
  return {
    ...(uuid !== undefined && { uuid }),
    ...{ name, source, minimalApprovals },
    approved: views(verdict.approved),
    mayApprove: views(verdict.mayApprove),
    fulfilled: verdict.isFulfilled,
    unmeetable: verdict.isUnmeetable,
  };
}

const OwnRule = z.object({
  name: oneLine(255),
  minimalApprovals: int({ min: 0, max: approversMax }),
  allowedApproversUuid: z.array(UserId).max(approversMax),
});
const OwnRules = z
  .object({
    rules: z.array(OwnRule).max(rulesMax).nullable().meta({
      description: "Null: those of the project hold again.",
    }),
  })
  .meta({ id: "MergeRequestApprovalRules" });

const replaceRules = route({
  ...writing,
  method: "put",
  path: `${at}/{localId}/approval-rule`,
  operationId: "replaceMergeRequestApprovalRules",
  summary: "Give a merge request approval rules of its own",
  description: "Where `canOverrideApprovals` allows it. By its author or a developer.",
  body: OwnRules,
  reply: MergeRequestView,
  async handle({ params, body, request }, deps) {
    const row = await mustBeChangeable(deps, request, params.localId);
    const configuration = await approvalConfigurationOf(deps.db, { project: request.project });
    if (!configuration.canOverrideApprovals) {
      const message = "The project does not allow requests to have approval rules of their own.";
      throw new Refusal("unprocessable", "approval.not_overridable", message);
    }
    const rules =
      body.rules?.map(({ allowedApproversUuid, ...rule }) => ({
        ...rule,
        targetBranch: row.target_branch,
        allowedApproverIds: [...new Set(allowedApproversUuid)],
      })) ?? null;
    const approverIds = rules?.flatMap(({ allowedApproverIds }) => allowedApproverIds) ?? [];
    await mustBeUsers(deps.db, approverIds);
    for (const rule of rules ?? []) mustBeReachable(rule);
    const command = {
      type: "ReplaceApprovalRules",
      rules,
      ...projectStampOf(request, deps),
    } as const;
    return write(row, command, request, deps);
  },
});

export const approveRoutes: readonly Route[] = [approve, getApprovals, replaceRules];

async function write(
  row: MergeRequestRow,
  command: MergeRequestCommand,
  request: Writing,
  deps: Deps,
) {
  await request.execute(mergeRequest, row.id, command);
  return findView(deps, request, row.local_id);
}

/** What decides about approvals of a request now. */
async function approvalFacts(
  row: MergeRequestRow,
  { project }: Pick<Writing, "project">,
  { db, git }: Deps,
) {
  const configuration = await approvalConfigurationOf(db, { project });
  const rules = await rulesOf(db, project, row, configuration);
  const repository = await git.find(project.id);
  const target = await findRef(db, project.id, "branch", row.target_branch);
  const comparison =
    repository === undefined || target === undefined
      ? undefined
      : await compareHeads(repository, target.object_id, row.source_commit);
  const judging = { db, project, repository, row, configuration, rules, comparison };
  return { configuration, rules, ...(await judgeRules(judging)) };
}

/** What a caller is to the approvals of a request. */
export type Approver = Readonly<{
  /** A rule or their role lets them; the commits may be their own all the same. */
  mayApprove: boolean;
  hasApproved: boolean;
  needsPassword: boolean;
}>;

export async function approverOf(
  row: MergeRequestRow,
  { project, userId, role }: Writing,
  { db }: Deps,
): Promise<Approver> {
  const configuration = await approvalConfigurationOf(db, { project });
  const approvals = await approvalsOf(db, row.id);
  return {
    mayApprove: mayApprove(userId, role, await rulesOf(db, project, row, configuration)),
    hasApproved: approvals.some(({ approver_id }) => approver_id === userId),
    needsPassword: configuration.requirePasswordToApprove,
  };
}

/** @throws Refusal 403 `auth.role_missing`; 422 `approval.own`, and about the password */
async function mustMayApprove(
  row: MergeRequestRow,
  password: string | undefined,
  request: Writing,
  deps: Deps,
): Promise<void> {
  const { userId, role } = request;
  const { configuration, rules, barred } = await approvalFacts(row, request, deps);
  if (!mayApprove(userId, role, rules)) {
    mustSuffice(role, { resource: "project", role: "DEVELOPER" });
  }
  if (barred.has(userId)) {
    const message =
      "The project lets nobody approve a request of their own, or with their commits.";
    throw new Refusal("unprocessable", "approval.own", message);
  }
  if (configuration.requirePasswordToApprove) await mustGivePassword(password, request, deps);
}

async function mustGivePassword(
  password: string | undefined,
  { userId, ip }: Writing,
  { db, lockout }: Deps,
): Promise<void> {
  const hash = (await findUserById(db, userId))?.password_hash ?? null;
  if (hash === null) {
    const message = "Approving requires a password, and the account has none.";
    throw fieldRefusal("password", "approval.password_missing", message);
  }
  const right = await lockout.guard({ account: userId, ip }, async () =>
    (await verifyPassword(password ?? "", hash)) ? true : null,
  );
  if (right !== null) return;
  throw fieldRefusal("password", "approval.password_wrong", "The password is wrong.");
}
