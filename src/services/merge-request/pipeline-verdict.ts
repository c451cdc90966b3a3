import type { Knex } from "knex";

import type { ApprovalConfiguration } from "../../events/merge-request/approval-rule.ts";
import {
  type Believed,
  type CommitCheck,
  checkOf,
  commitCheck,
} from "../../projections/pipeline/check.ts";
import { lastMergeRequestPipeline, lastPipeline } from "../../projections/pipeline/query.ts";
import type { PipelineRow } from "../../projections/pipeline/table.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { reaches } from "../../projections/protection/applicable.ts";
import { actingRoles } from "../../projections/team/acting-role.ts";

/** The commit whose pipelines are queried. */
export type PipelineQuestion = Readonly<{
  /** Of the target branch. */
  projectId: string;
  sourceProjectId: string;
  sourceCommit: string;
  /** Number of the request in the target project. */
  localId: number;
  /** Head of the target branch; undefined when it is gone. */
  targetHead: string | undefined;
  /** The source contains the head of the target branch: a merge gives the files of the source. */
  isUpToDate: boolean;
}>;

/** How the checks of a kind ended: null when there is none, or one has not ended. */
export type PipelineVerdicts = Readonly<{
  /** Of the source commit. */
  last: boolean | null;
  /** Of the pipeline of a branch on the source commit. */
  branch: boolean | null;
  /** Of the pipeline of the request for the source commit. */
  mergeRequest: boolean | null;
  /** Of what the merge would give. */
  mergeResult: boolean | null;
  /** One of them has not ended. */
  pending: boolean;
}>;

/**
 * What pipelines and commit statuses say of the source commit, in the project of the source and in
 * that of the target, and the pipeline of the request for that commit. In another project than the target, a status that
 * says success counts only from a developer of the target: authors of forks report there what they like. The result of a merge with the head
 * of the target is spoken for by a pipeline that ran on it, or by all of these while the source is up to date.
 */
export async function pipelineVerdicts(
  db: Knex,
  question: PipelineQuestion,
): Promise<PipelineVerdicts> {
  const { projectId, sourceProjectId, sourceCommit, localId, targetHead, isUpToDate } = question;
  const projectIds = [...new Set([sourceProjectId, projectId])];
  const key = { projectId, localId };
  const branching = Promise.all(
    projectIds.map((id) => lastPipeline(db, id, { commitId: sourceCommit, ofBranch: true })),
  );
  const [branches, own, result, ...others] = await Promise.all([
    branching,
    lastMergeRequestPipeline(db, key, { sourceCommit }),
    targetHead && lastMergeRequestPipeline(db, key, { sourceCommit, targetCommit: targetHead }),
    ...projectIds.map((id) => {
      const believed = id === projectId ? undefined : developersOf(db, projectId);
      return commitCheck(db, id, sourceCommit, believed);
    }),
  ]);
  const checks = new Set([...others, ...(own === undefined ? [] : [checkOf(own.status)])]);
  const last = verdictOf(checks);
  const ofResult = result ? verdictOf(new Set([checkOf(result.status)])) : null;
  const mergeResult = result ? ofResult : isUpToDate ? last : null;
  const branch = ofPipelines(branches);
  const mergeRequest = ofPipelines([own]);
  return { last, branch, mergeRequest, mergeResult, pending: checks.has("RUNNING") };
}

const developersOf =
  (db: Knex, projectId: string): Believed =>
  async (userIds) => {
    const project = await findProjectById(db, projectId);
    const roles = project === undefined ? [] : await actingRoles(db, project, userIds);
    return new Set([...roles].flatMap(([id, role]) => (reaches(role, "DEVELOPER") ? [id] : [])));
  };

const ofPipelines = (rows: readonly (Pick<PipelineRow, "status"> | undefined)[]) =>
  verdictOf(new Set(rows.flatMap((row) => (row === undefined ? [] : [checkOf(row.status)]))));

function verdictOf(checks: ReadonlySet<CommitCheck>): boolean | null {
  if (checks.has("FAILED")) return false;
  return checks.has("PASSED") && !checks.has("RUNNING") ? true : null;
}

/**
 * A pipeline that is demanded must have succeeded. One that is not demanded is no obstacle until it fails.
 * `checkCiCdStatus` is content with any check of the source commit, the other flags each with one kind of pipeline.
 */
export function pipelineRequirements(
  configuration: ApprovalConfiguration,
  { last, branch, mergeRequest, mergeResult }: Omit<PipelineVerdicts, "pending">,
): Readonly<{ LAST_PIPELINE_SUCCESS: boolean; MERGE_RESULTS_PIPELINE_SUCCESS: boolean }> {
  const holds = (isDemanded: boolean, verdict: boolean | null): boolean =>
    isDemanded ? verdict === true : verdict !== false;
  return {
    LAST_PIPELINE_SUCCESS:
      holds(configuration.checkCiCdStatus, last) &&
      holds(configuration.branchPipelineStatusCheckEnabled, branch) &&
      holds(configuration.mergeRequestPipelineStatusCheckEnabled, mergeRequest),
    MERGE_RESULTS_PIPELINE_SUCCESS: holds(
      configuration.mergeResultPipelineStatusCheckEnabled,
      mergeResult,
    ),
  };
}
