import type { Knex } from "knex";

import type { ApprovalConfiguration } from "../../events/merge-request/approval-rule.ts";
import { type CommitCheck, commitCheck } from "../../projections/pipeline/check.ts";

/** Which commit pipelines are asked about. */
export type PipelineQuestion = Readonly<{
  /** Of the target branch. */
  projectId: string;
  sourceProjectId: string;
  sourceCommit: string;
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
 * that of the target. They speak for the result of the merge as well while the source is up to date.
 */
export async function pipelineVerdicts(
  db: Knex,
  { projectId, sourceProjectId, sourceCommit, isUpToDate }: PipelineQuestion,
): Promise<PipelineVerdicts> {
  const projectIds = [...new Set([sourceProjectId, projectId])];
  const checks = new Set(
    await Promise.all(projectIds.map((id) => commitCheck(db, id, sourceCommit))),
  );
  const last = verdictOf(checks);
  return { last, mergeResult: isUpToDate ? last : null, pending: checks.has("RUNNING") };
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
