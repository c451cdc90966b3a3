import type { UserId } from "../../events/core/ids.ts";
import type { JobSpec } from "../../events/pipeline/job-spec.ts";
import {
  findJobSpec,
  findPipelineById,
  jobsWithArtifacts,
} from "../../projections/pipeline/query.ts";
import type { JobRow, PipelineRow } from "../../projections/pipeline/table.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../core/deps.ts";
import { isProtectedRef } from "./create.ts";

export type VariableDeps = Pick<WorkerDeps, "db" | "git" | "vault" | "blobs" | "publicUrl">;

/** A job and what it belongs to. */
export type JobRun = Readonly<{
  deps: VariableDeps;
  job: JobRow;
  pipeline: PipelineRow;
  project: ProjectRow;
  spec: JobSpec;
  isProtected: boolean;
  /** In the whole service; 0 until it has one. */
  number: bigint;
  /** Jobs that left artifacts for it. */
  dependencies: readonly JobRow[];
}>;

/** For whom a job acts: who played it, else who restarted it, else who started the pipeline. */
export const actorOfJob = (job: JobRow, pipeline: Pick<PipelineRow, "user_id">): UserId | null =>
  job.played_by_id ?? job.reset_by_id ?? pipeline.user_id;

/**
 * Undefined when the job's plan, its pipeline or its project is gone.
 *
 * @param known the plan, where it was read before: it never changes
 */
export async function findJobRun(
  deps: VariableDeps,
  job: JobRow,
  known?: JobSpec,
): Promise<JobRun | undefined> {
  const [pipeline, project, spec] = await Promise.all([
    findPipelineById(deps.db, job.pipeline_id),
    findProjectById(deps.db, job.project_id),
    known ?? findJobSpec(deps.db, job.id),
  ]);
  if (pipeline === undefined || project === undefined || spec === undefined) return undefined;
  const isProtected = await isProtectedRef(deps, project, {
    ref: pipeline.ref,
    isTag: pipeline.is_tag,
    mergeRequest: pipeline.merge_request,
  });
  const dependencies = await dependenciesOf(deps, job, spec);
  const number = pipeline.number ?? 0n;
  return { deps, job, pipeline, project, spec, isProtected, number, dependencies };
}

/** Names of the jobs whose artifacts a job is given; undefined for all of earlier stages. */
function namesOfDependencies({ dependencies, needs }: JobSpec): readonly string[] | undefined {
  const fromNeeds = needs?.filter(({ artifacts }) => artifacts).map((need) => need.job);
  return dependencies ?? fromNeeds;
}

/** Whether a job is given the artifacts of the other: those named in its plan, or all of earlier stages. */
export function dependsOn(job: JobRow, spec: JobSpec, other: JobRow): boolean {
  if (other.pipeline_id !== job.pipeline_id) return false;
  const names = namesOfDependencies(spec);
  return names === undefined ? other.stage_index < job.stage_index : names.includes(other.name);
}

/** Those of the jobs it depends on that have artifacts, in the order of stages. */
async function dependenciesOf(
  { db }: Pick<VariableDeps, "db">,
  { pipeline_id, stage_index }: JobRow,
  spec: JobSpec,
): Promise<readonly JobRow[]> {
  const names = namesOfDependencies(spec);
  const isFirst = names === undefined && stage_index === 0;
  if (isFirst || names?.length === 0) return [];
  return jobsWithArtifacts(db, pipeline_id, names ? { names } : { stageBefore: stage_index });
}
