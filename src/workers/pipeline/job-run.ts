import type { UserId } from "../../events/core/ids.ts";
import type { JobSpec } from "../../events/pipeline/job-spec.ts";
import { allJobs, findJobSpec, findPipelineById } from "../../projections/pipeline/query.ts";
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
  dependencies: readonly JobRow[];
}>;

/** For whom a job acts: who played it, else who restarted it, else who started the pipeline. */
export const actorOfJob = (job: JobRow, pipeline: Pick<PipelineRow, "user_id">): UserId | null =>
  job.played_by_id ?? job.reset_by_id ?? pipeline.user_id;

/** Undefined when the job's plan, its pipeline or its project is gone. */
export async function findJobRun(deps: VariableDeps, job: JobRow): Promise<JobRun | undefined> {
  const [pipeline, project, spec] = await Promise.all([
    findPipelineById(deps.db, job.pipeline_id),
    findProjectById(deps.db, job.project_id),
    findJobSpec(deps.db, job.id),
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

/** With `dependencies` those named, with `needs` those that say so, else all of earlier stages. */
export async function dependenciesOf(
  { db }: Pick<VariableDeps, "db">,
  job: JobRow,
  { dependencies, needs }: JobSpec,
): Promise<readonly JobRow[]> {
  const jobs = await allJobs(db, job.pipeline_id);
  const fromNeeds = needs?.filter(({ artifacts }) => artifacts).map((need) => need.job);
  const names = dependencies ?? fromNeeds;
  if (names === undefined) return jobs.filter(({ stage_index }) => stage_index < job.stage_index);
  const wanted = new Set(names);
  return jobs.filter(({ name }) => wanted.has(name));
}
