import type { Knex } from "knex";
import type { UserId } from "../../events/core/ids.ts";
import type { Role } from "../../events/core/role.ts";
import type {
  ApprovalConfiguration,
  ApprovalRule,
} from "../../events/merge-request/approval-rule.ts";
import { Answers } from "../../git/answers.ts";
import type { Repository } from "../../git/repository.ts";
import { runGit } from "../../git/run.ts";
import { approvalRulesFor } from "../../projections/merge-request/approval-rule.ts";
import { approvalsOf } from "../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { reaches } from "../../projections/protection/applicable.ts";
import { projectRoles } from "../../projections/team/member-role.ts";
import { findCommitAuthors } from "../../projections/user/commit-author.ts";
import { findUsersById } from "../../projections/user/user.ts";
import type { Comparison } from "./compare.ts";

/** A user whose approval counts, and their role in the project. */
export type Approver = Readonly<{ userId: UserId; alias: string; role: Role }>;

/** A rule, and whose it is. */
export type AppliedRule = ApprovalRule &
  Readonly<{ uuid?: string; source: "REQUEST" | "PROJECT" | "TEAM" | "COMPANY" }>;

/**
 * The rules that a request has to satisfy: those that team and company hand down, and its own where it may
 * have such, or the project's.
 */
export async function rulesOf(
  db: Knex,
  project: ProjectRow,
  row: Pick<MergeRequestRow, "approval_rules" | "target_branch">,
  { canOverrideApprovals }: ApprovalConfiguration,
): Promise<readonly AppliedRule[]> {
  const own = canOverrideApprovals ? row.approval_rules : null;
  const rules = await approvalRulesFor(db, project, row.target_branch);
  const applying = own === null ? rules : rules.filter((rule) => rule.parent_type !== "PROJECT");
  return [
    ...(own ?? []).map((rule) => ({ ...rule, source: "REQUEST" as const })),
    ...applying.map((rule) => ({
      uuid: rule.id,
      source: rule.parent_type,
      targetBranch: rule.target_branch,
      name: rule.name,
      minimalApprovals: rule.minimal_approvals,
      allowedApproverIds: [...rule.approver_ids],
    })),
  ];
}

/** Whether a user may approve: a developer, or a user that a rule names, if they can see the project. */
export function mayApprove(
  userId: UserId,
  role: Role | undefined,
  rules: readonly ApprovalRule[],
): boolean {
  if (role === undefined) return false;
  return (
    reaches(role, "DEVELOPER") ||
    rules.some(({ allowedApproverIds }) => allowedApproverIds.includes(userId))
  );
}

type Counted = Readonly<{
  rules: readonly ApprovalRule[];
  barred: ReadonlySet<string>;
  /** Those who approved, where it is not about now. */
  approverIds?: ReadonlySet<UserId> | undefined;
}>;

/** Those of the approvals that count now: roles, the author and the commits may have changed since. */
export async function countingApprovers(
  db: Knex,
  project: ProjectRow,
  { id }: Pick<MergeRequestRow, "id">,
  { rules, barred, approverIds }: Counted,
): Promise<readonly Approver[]> {
  const approved = approverIds ?? (await approvalsOf(db, id)).map((row) => row.approver_id);
  const ids = [...approved].filter((userId) => !barred.has(userId));
  return possibleApprovers(db, project, rules, ids);
}

/** Those of the users who may approve now, whatever the request brings. */
export async function possibleApprovers(
  db: Knex,
  project: ProjectRow,
  rules: readonly ApprovalRule[],
  userIds: readonly string[],
): Promise<readonly Approver[]> {
  if (userIds.length === 0) return [];
  const users = await findUsersById(db, userIds);
  const roles = await projectRoles(db, project, userIds);
  return userIds.flatMap((id) => {
    const [user, role] = [users.get(id), roles.get(id)];
    if (user === undefined || user.banned_at !== null || role === undefined) return [];
    if (!mayApprove(user.id, role, rules)) return [];
    return [{ userId: user.id, alias: user.alias, role }];
  });
}

/** Who may not approve a request, by the configuration: its author, and whose commits it brings. */
export async function barredFromApproving(
  db: Knex,
  repository: Repository,
  row: Pick<MergeRequestRow, "author_id" | "source_commit">,
  comparison: Comparison | undefined,
  configuration: ApprovalConfiguration,
): Promise<ReadonlySet<string>> {
  const barred = new Set<string>();
  if (configuration.preventAuthorApproving) barred.add(row.author_id);
  if (configuration.preventCommitterApproving) {
    const emails = await committersOf(repository, comparison?.baseId ?? null, row.source_commit);
    for (const user of (await findCommitAuthors(db, emails)).values()) barred.add(user.id);
  }
  return barred;
}

const commitsMax = 10_000;
const committersKept = new Answers<readonly string[]>(4 * 1024 ** 2, (emails) =>
  emails.reduce((sum, { length }) => sum + 2 * length + 50, 0),
);

/** Addresses of those who wrote or made the commits that a source brings. */
function committersOf(
  { gitDir }: Repository,
  baseId: string | null,
  sourceCommit: string,
): Promise<readonly string[]> {
  return committersKept.get(`${baseId} ${sourceCommit}`, async () => {
    const range = baseId === null ? [sourceCommit] : [sourceCommit, `^${baseId}`];
    const args = [`--max-count=${commitsMax}`, "--format=%ce%n%ae", "--end-of-options", ...range];
    const { stdout } = await runGit(gitDir, ["log", ...args, "--"]);
    return [...new Set(stdout.toString().split("\n").filter(Boolean))];
  });
}
