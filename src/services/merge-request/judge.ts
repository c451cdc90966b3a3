import type { Knex } from "knex";
import type { UserId } from "../../events/core/ids.ts";
import type { Role } from "../../events/core/role.ts";
import type { ApprovalConfiguration } from "../../events/merge-request/approval-rule.ts";
import type { MergeStrategy } from "../../events/merge-request/merge-setting.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import type { GitRepositories } from "../../git/repositories.ts";
import { hasLocksOfOthers, lockedByOthers } from "../../projections/git/lfs-lock.ts";
import { approvalConfigurationOf } from "../../projections/merge-request/approval-rule.ts";
import { mergeChecks } from "../../projections/merge-request/merge-check.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { mergeSettingsOf } from "../../projections/merge-request/merge-setting.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import {
  reaches,
  refChangeRefused,
  refProtections,
} from "../../projections/protection/applicable.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { approvalVerdict } from "./approval-verdict.ts";
import { type AppliedRule, type Approver, rulesOf } from "./approver.ts";
import type { Comparison } from "./compare.ts";
import {
  type Findings,
  type MergeError,
  mergeErrorsOf,
  notOpen,
  plainError,
} from "./merge-refusal.ts";
import {
  type PipelineVerdicts,
  pipelineRequirements,
  pipelineVerdicts,
} from "./pipeline-verdict.ts";
import { allRequirements, noRequirements, type Requirements } from "./requirement.ts";
import { noConflicts, sidesOf } from "./sides.ts";
import { usualStrategy } from "./strategy.ts";

/** Who would merge, and what they are in the target project. */
export type Viewer = Readonly<{ userId: string | null; role: Role | undefined }>;

/** Whether a request can be merged: `refusalOf` of it is what a merge is answered. */
export type Judgement = Findings &
  Readonly<{
    /** Everything that a merge would be refused for. */
    errors: readonly MergeError[];
    /** There is nothing of the kind. */
    canMerge: boolean;
    /** Head of the target branch; undefined when it is gone. */
    targetHead: string | undefined;
    /** Of the two branches; null where they are not compared. Without one they are merged all the same. */
    hasCommonHistory: boolean | null;
    rules: readonly AppliedRule[];
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
  | ("target_branch" | "is_draft" | "author_id" | "approval_rules" | "squash_commit")
>;

export type JudgedBy = Readonly<{
  /** How it would be merged; as the project merges it when nobody says how. */
  strategy?: MergeStrategy;
  /** What held at another time than now. */
  targetHead?: string | undefined;
  approverIds?: ReadonlySet<UserId>;
}>;

export type JudgeDeps = Readonly<{ db: Knex; git: Pick<GitRepositories, "find"> }>;

/** What holds for all requests of a project, queried at once. */
function readOnce(db: Knex, project: ProjectRow, { userId }: Viewer) {
  const configuring = approvalConfigurationOf(db, { project });
  const protecting = refProtections(db, project);
  const locking = hasLocksOfOthers(db, project.id, userId);
  const setting = mergeSettingsOf(db, project.id);
  for (const each of [configuring, protecting, locking, setting]) each.catch(() => undefined);
  return { configuring, protecting, locking, setting };
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

  return async (row: Judged, by: JudgedBy = {}): Promise<Judgement> => {
    if (row.status === "OPENED") common();
    const [repository, target] = await Promise.all([
      git.find(project.id),
      findRef(db, project.id, "branch", row.target_branch),
    ]);
    const targetHead = by.targetHead ?? target?.object_id;
    if (row.status !== "OPENED" || repository === undefined) return notCompared(row, targetHead);
    const configuration = await common().configuring;
    const { settings } = await common().setting;
    const strategy = by.strategy ?? usualStrategy(row, settings);
    const kept = mergeChecks(db, project.id);
    const [sides, rules] = await Promise.all([
      sidesOf(repository, kept, { ...row, targetHead, strategy }),
      rulesOf(db, project, row, configuration),
    ]);
    const { comparison, conflicts, conflictsCount, obstacle } = sides;
    const verifying = verdictsOf(db, row, targetHead, comparison);
    verifying.catch(() => undefined);
    const judging = { db, project, repository, row, configuration, rules, comparison } as const;
    const { head } = sides;
    const approval = await approvalVerdict({ ...judging, head, approverIds: by.approverIds });
    const verdicts = await verifying;
    const requirements: Requirements = {
      ...pipelineRequirements(configuration, verdicts),
      WORK_NOT_IN_PROGRESS: !row.is_draft,
      RIGHTS_TO_MERGE: viewer.role !== undefined && reaches(viewer.role, "DEVELOPER"),
      NO_CONFLICTS: sides.reasons.length === 0 && sides.conflictsCount === 0,
      BRANCH_NOT_PROTECTED_FOR_USER: !(await protectedFor(row.target_branch)),
      ...approval.requirements,
    };
    const lockConflicts = comparison === undefined ? [] : await lockedOf(comparison);
    const reasons = [...sides.reasons, ...approval.reasons];
    const hasCommonHistory = comparison === undefined ? null : comparison.baseId !== null;
    const of = { requirements, reasons, conflicts, conflictsCount, lockConflicts, obstacle };
    const errors = mergeErrorsOf(of);
    const found = { ...of, errors, canMerge: errors.length === 0, targetHead, hasCommonHistory };
    const { approvers } = approval;
    const foundBy = { configuration, comparison, rules, approvers };
    return { ...found, ...foundBy, pipelines: verdicts };
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

/**
 * What is known without reading the branches. A merge demands all of the requirements, so a merged request met
 * them. Any other that is not open cannot be merged, whatever else holds.
 */
export function notCompared(
  { status, is_draft }: Pick<Judged, "status" | "is_draft">,
  targetHead: string | undefined,
): Judgement {
  const requirements =
    status === "MERGED" ? allRequirements : { ...noRequirements, WORK_NOT_IN_PROGRESS: !is_draft };
  const obstacle = notOpen(status);
  const of = { requirements, ...noConflicts, lockConflicts: [], reasons: [], obstacle };
  const nothing = {
    hasCommonHistory: null,
    errors: obstacle === undefined ? mergeErrorsOf(of) : [plainError(obstacle)],
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
  return { ...of, canMerge: false, targetHead, ...nothing, pipelines };
}
