import type { Knex } from "knex";
import type { UserId } from "../../events/core/ids.ts";
import type { Role } from "../../events/core/role.ts";
import type {
  ApprovalConfiguration,
  ApprovalRule,
} from "../../events/merge-request/approval-rule.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import { checkMerge, type KeptMerges } from "../../git/merge-commits.ts";
import { isFinalFailure, mergeFailure } from "../../git/merge-failure.ts";
import type { GitRepositories } from "../../git/repositories.ts";
import type { Repository } from "../../git/repository.ts";
import { Refusal } from "../../platform/refusal.ts";
import { hasLocksOfOthers, lockedByOthers } from "../../projections/git/lfs-lock.ts";
import { approvalConfigurationOf } from "../../projections/merge-request/approval-rule.ts";
import { mergeChecks } from "../../projections/merge-request/merge-check.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import {
  reaches,
  refChangeRefused,
  refProtections,
} from "../../projections/protection/applicable.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import {
  type Approver,
  barredFromApproving,
  countingApprovers,
  possibleApprovers,
  rulesOf,
} from "./approver.ts";
import { type Comparison, compareHeads } from "./compare.ts";
import { type OwnerDemands, ownerDemands, ownersAgree } from "./owners.ts";
import {
  type PipelineVerdicts,
  pipelineRequirements,
  pipelineVerdicts,
} from "./pipeline-verdict.ts";

/** What must be true of a request before it is merged. */
export const requirementNames = [
  "LAST_PIPELINE_SUCCESS",
  "WORK_NOT_IN_PROGRESS",
  "RIGHTS_TO_MERGE",
  "NO_CONFLICTS",
  "BRANCH_NOT_PROTECTED_FOR_USER",
  "HAS_ALL_APPROVERS",
  "HAS_ALL_CODEOWNERS",
  "MERGE_RESULTS_PIPELINE_SUCCESS",
] as const;
export type RequirementName = (typeof requirementNames)[number];
export type Requirements = Readonly<Record<RequirementName, boolean>>;

/** Who would merge, and what they are in the target project. */
export type Viewer = Readonly<{ userId: string | null; role: Role | undefined }>;

export type Reason = Readonly<{ field: RequirementName; code: string; message: string }>;

export type Judgement = Readonly<{
  requirements: Requirements;
  /** All of them are true, it is open, and the target lacks something that the source has. */
  canMerge: boolean;
  /** Head of the target branch; undefined when it is gone. */
  targetHead: string | undefined;
  /** Of the two branches; null where they are not compared. Without one they are merged all the same. */
  hasCommonHistory: boolean | null;
  /** Paths that both sides changed in different ways: the first of them, and how many there are. */
  conflicts: readonly string[];
  conflictsCount: number;
  /** Paths of the request that others have locked. */
  lockConflicts: readonly string[];
  /** Why requirements do not hold, where their names do not say it. */
  reasons: readonly Reason[];
  rules: readonly ApprovalRule[];
  approvers: readonly Approver[];
  pipelines: PipelineVerdicts;
  /** What these were found by; undefined where the request is not open or not compared. */
  configuration: ApprovalConfiguration | undefined;
  comparison: Comparison | undefined;
}>;

/** What of a request is judged. */
export type Judged = Pick<
  MergeRequestRow,
  | ("id" | "status" | "project_id" | "local_id" | "source_project_id" | "source_commit")
  | ("target_branch" | "is_draft" | "author_id" | "approval_rules")
>;

/** What held at another time than now. */
export type Then = Readonly<{
  targetHead?: string | undefined;
  approverIds?: ReadonlySet<UserId>;
}>;

export type JudgeDeps = Readonly<{ db: Knex; git: Pick<GitRepositories, "find"> }>;

/** Which of these users may approve a request now. @param excluded one who may not, whatever the role */
function ableAmong(
  db: Knex,
  project: ProjectRow,
  rules: readonly ApprovalRule[],
  excluded: string | undefined,
) {
  return async (userIds: readonly string[]): Promise<ReadonlySet<string>> => {
    const others = userIds.filter((id) => id !== excluded);
    const able = await possibleApprovers(db, project, rules, others);
    return new Set(able.map(({ userId }) => userId));
  };
}

/** What holds for all requests of a project, queried at once. */
function readOnce(db: Knex, project: ProjectRow, { userId }: Viewer) {
  const configuring = approvalConfigurationOf(db, { project });
  const protecting = refProtections(db, project);
  const locking = hasLocksOfOthers(db, project.id, userId);
  for (const reading of [configuring, protecting, locking]) reading.catch(() => undefined);
  return { configuring, protecting, locking };
}

/** Judges requests of one project for one person; what holds for all of them is read once. */
export function mergeJudge({ db, git }: JudgeDeps, project: ProjectRow, viewer: Viewer) {
  let read: ReturnType<typeof readOnce> | undefined;
  // Requests that are not open need nothing of it.
  const common = () => {
    read ??= readOnce(db, project, viewer);
    return read;
  };

  const protectedFor = async (branch: string): Promise<boolean> => {
    const ref = branchPrefix + branch;
    const protection = (await common().protecting).of(ref);
    const wish = { ref, before: "any", after: "any", merging: true };
    return (
      protection !== null &&
      (viewer.role === undefined || refChangeRefused(protection, viewer.role, wish) !== undefined)
    );
  };

  const lockedOf = async ({ paths = [] }: Comparison): Promise<readonly string[]> => {
    if (!(await common().locking) || paths.length === 0) return [];
    const locks = await lockedByOthers(db, project.id, { userId: viewer.userId, paths });
    return locks.map(({ path }) => path);
  };

  return async (row: Judged, then: Then = {}): Promise<Judgement> => {
    if (row.status === "OPENED") common();
    const [repository, target] = await Promise.all([
      git.find(project.id),
      findRef(db, project.id, "branch", row.target_branch),
    ]);
    const targetHead = then.targetHead ?? target?.object_id;
    if (row.status !== "OPENED" || repository === undefined) return notCompared(row, targetHead);
    const configuration = await common().configuring;
    const kept = mergeChecks(db, project.id);
    const [sides, rules] = await Promise.all([
      sidesOf(repository, kept, targetHead, row),
      rulesOf(db, project, row, configuration),
    ]);
    const { comparison, conflicts, conflictsCount } = sides;
    const verifying = verdictsOf(db, row, targetHead, comparison);
    verifying.catch(() => undefined);
    const barred = await barredFromApproving(db, repository, row, comparison, configuration);
    const counted = { rules, barred, approverIds: then.approverIds };
    const approvers = await countingApprovers(db, project, row, counted);
    // Commits say who made them but do not prove it, so they rid nobody of being an owner.
    const excluded = configuration.preventAuthorApproving ? row.author_id : undefined;
    const mayApprove = ableAmong(db, project, rules, excluded);
    const owning = comparison && (await ownerDemands(repository, sides.head, comparison));
    const verdicts = await verifying;
    const requirements: Requirements = {
      ...pipelineRequirements(configuration, verdicts),
      WORK_NOT_IN_PROGRESS: !row.is_draft,
      RIGHTS_TO_MERGE: viewer.role !== undefined && reaches(viewer.role, "DEVELOPER"),
      NO_CONFLICTS: sides.reasons.length === 0 && sides.conflictsCount === 0,
      BRANCH_NOT_PROTECTED_FOR_USER: !(await protectedFor(row.target_branch)),
      HAS_ALL_APPROVERS: rules.every((rule) => isSatisfied(rule, approvers)),
      HAS_ALL_CODEOWNERS:
        owning === undefined ||
        (owning.demands !== undefined &&
          (await ownersAgree(db, project, owning.demands, { approvers, mayApprove }))),
    };
    const canMerge = comparison?.baseId !== row.source_commit && areMet(requirements);
    const lockConflicts = comparison === undefined ? [] : await lockedOf(comparison);
    const reasons = [...sides.reasons, ...reasonsOf(owning)];
    const hasCommonHistory = comparison === undefined ? null : comparison.baseId !== null;
    const found = { hasCommonHistory, conflicts, conflictsCount, lockConflicts, reasons };
    const by = { configuration, comparison, rules, approvers };
    return { requirements, canMerge, targetHead, ...found, ...by, pipelines: verdicts };
  };
}

export function verdictsOf(
  db: Knex,
  row: Judged,
  targetHead: string | undefined,
  comparison: Comparison | undefined,
): Promise<PipelineVerdicts> {
  return pipelineVerdicts(db, {
    projectId: row.project_id,
    sourceProjectId: row.source_project_id,
    sourceCommit: row.source_commit,
    localId: row.local_id,
    targetHead,
    isUpToDate: comparison !== undefined && comparison.baseId === targetHead,
  });
}

const isSatisfied = (rule: ApprovalRule, approvers: readonly Approver[]): boolean =>
  approvers.filter(({ userId }) => rule.allowedApproverIds.includes(userId)).length >=
  rule.minimalApprovals;

const reasonsOf = (owning: OwnerDemands | undefined): readonly Reason[] =>
  owning === undefined || owning.demands !== undefined
    ? []
    : [{ field: "HAS_ALL_CODEOWNERS", code: owning.code, message: owning.message }];

const areMet = (requirements: Requirements): boolean => Object.values(requirements).every(Boolean);

const noConflicts = { conflicts: [], conflictsCount: 0 } as const;

type Sides = Readonly<{
  head: string;
  comparison: Comparison | undefined;
  conflicts: readonly string[];
  conflictsCount: number;
  /** Why it is not known whether they merge. */
  reasons: readonly Reason[];
}>;

/** Without a target branch there is nothing to compare with; nor beyond the limits of a merge. */
async function sidesOf(
  repository: Repository,
  kept: KeptMerges,
  targetHead: string | undefined,
  { source_commit: theirs, target_branch: branch }: Judged,
): Promise<Sides> {
  const unknown = (code: string, message: string): Sides => {
    const reasons = [{ field: "NO_CONFLICTS", code, message } as const];
    return { head: targetHead ?? "", comparison: undefined, ...noConflicts, reasons };
  };
  if (targetHead === undefined) {
    return unknown("branch.not_found", `The target branch ${branch} does not exist.`);
  }
  try {
    const comparison = await compareHeads(repository, targetHead, theirs);
    const merged = await checkMerge(repository, { ours: targetHead, theirs }, kept);
    const conflicts = merged.conflicts === undefined ? noConflicts : merged;
    return { head: targetHead, comparison, ...conflicts, reasons: [] };
  } catch (error) {
    const failure = mergeFailure(error);
    if (failure instanceof Refusal) return unknown(failure.code, failure.message);
    if (isFinalFailure(failure)) return unknown(mergeFailed, failure.message);
    throw failure;
  }
}

/** Code of a reason that makes the request FAILED when it is merged. */
export const mergeFailed = "merge.failed";

const allAre = (isMet: boolean) =>
  Object.fromEntries(requirementNames.map((name) => [name, isMet])) as Requirements;

/** None of them is met. */
export const noRequirements = allAre(false);

/**
 * What is known without reading the branches. A merge demands all of the requirements, so a merged request met
 * them. Any other that is not open cannot be merged, whatever else holds.
 */
export function notCompared(
  { status, is_draft }: Pick<Judged, "status" | "is_draft">,
  targetHead: string | undefined,
): Judgement {
  const requirements =
    status === "MERGED" ? allAre(true) : { ...noRequirements, WORK_NOT_IN_PROGRESS: !is_draft };
  const nothing = {
    hasCommonHistory: null,
    ...noConflicts,
    lockConflicts: [],
    reasons: [],
    rules: [],
    approvers: [],
    configuration: undefined,
    comparison: undefined,
  };
  const pipelines = {
    last: null,
    branch: null,
    mergeRequest: null,
    mergeResult: null,
    pending: false,
  };
  return { requirements, canMerge: false, targetHead, ...nothing, pipelines };
}
