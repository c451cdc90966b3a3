import type { Knex } from "knex";

import type { ApprovalConfiguration } from "../../events/merge-request/approval-rule.ts";
import { type CommitCheck, checkOf, commitCheck } from "../../projections/pipeline/check.ts";
import { lastMergeRequestPipeline } from "../../projections/pipeline/query.ts";

/** Which commit pipelines are asked about. */
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
  /** Of what the merge would give. */
  mergeResult: boolean | null;
  /** One of them has not ended. */
  pending: boolean;
}>;

/**
 * What pipelines and commit statuses say of the source commit, in the project of the source and in
 * that of the target, and the pipeline of the request for that commit. The result of a merge with the head
 * of the target is spoken for by a pipeline that ran on it, or by all of these while the source is up to date.
 */
export async function pipelineVerdicts(
  db: Knex,
  question: PipelineQuestion,
): Promise<PipelineVerdicts> {
  const { projectId, sourceProjectId, sourceCommit, localId, targetHead, isUpToDate } = question;
  const projectIds = [...new Set([sourceProjectId, projectId])];
  const place = { projectId, localId };
  const [own, result, ...others] = await Promise.all([
    lastMergeRequestPipeline(db, place, { sourceCommit }),
    targetHead && lastMergeRequestPipeline(db, place, { sourceCommit, targetCommit: targetHead }),
    ...projectIds.map((id) => commitCheck(db, id, sourceCommit)),
  ]);
  const checks = new Set([...others, ...(own === undefined ? [] : [checkOf(own.status)])]);
  const last = verdictOf(checks);
  const ofResult = result ? verdictOf(new Set([checkOf(result.status)])) : null;
  const mergeResult = result ? ofResult : isUpToDate ? last : null;
  return { last, mergeResult, pending: checks.has("RUNNING") };
}

function verdictOf(checks: ReadonlySet<CommitCheck>): boolean | null {
  if (checks.has("FAILED")) return false;
  return checks.has("PASSED") && !checks.has("RUNNING") ? true : null;
}

/** A pipeline that is demanded must have succeeded; one that is not demanded is no obstacle. */
export function pipelineRequirements(
  configuration: ApprovalConfiguration,
  { last, mergeResult }: Pick<PipelineVerdicts, "last" | "mergeResult">,
): Readonly<{ LAST_PIPELINE_SUCCESS: boolean; MERGE_RESULTS_PIPELINE_SUCCESS: boolean }> {
  const demandsLast =
    configuration.checkCiCdStatus ||
    configuration.branchPipelineStatusCheckEnabled ||
    configuration.mergeRequestPipelineStatusCheckEnabled;
  const demandsResult = configuration.mergeResultPipelineStatusCheckEnabled;
  return {
    LAST_PIPELINE_SUCCESS: !demandsLast || last === true,
    MERGE_RESULTS_PIPELINE_SUCCESS: !demandsResult || mergeResult === true,
  };
}
