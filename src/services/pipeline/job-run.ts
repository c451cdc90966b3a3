import { ObjectId, type UserId } from "../../events/core/ids.ts";
import type { Settings } from "../../events/instance/settings.ts";
import type { JobSpec } from "../../events/pipeline/job-spec.ts";
import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import { findSettings } from "../../projections/instance/settings.ts";
import {
  findJobSpec,
  findPipelineById,
  jobsWithArtifacts,
} from "../../projections/pipeline/query.ts";
import type { JobRow, PipelineRow } from "../../projections/pipeline/table.ts";
import { type VariableRow, variablesOf } from "../../projections/pipeline/variable.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../core/deps.ts";
import { isProtectedRef } from "./create.ts";
import { mergeRequestVariables } from "./merge-request-variable.ts";
import { parentVariables } from "./parent-variable.ts";
import { variableParents } from "./setting-variable.ts";
import { userVariables } from "./user-variable.ts";

export type VariableDeps = Pick<
  WorkerDeps,
  "db" | "git" | "vault" | "blobs" | "publicUrl" | "publicSshHost" | "publicSshPort"
>;

/** What the runs of all jobs of a pipeline are made with. */
type PipelineFacts = Readonly<{
  pipeline: PipelineRow;
  project: ProjectRow;
  isProtected: boolean;
  /** Of its project and what this belongs to. */
  settings: readonly VariableRow[];
  instance: Settings;
  /** See mergeRequestVariables. */
  ofRequests: ReadonlyMap<string, string>;
  /** See parentVariables. */
  ofParent: Readonly<Record<string, string>>;
  /** See userVariables; of who started the pipeline. */
  ofUser: Readonly<Record<string, string>>;
}>;

/** A job and what it belongs to. */
export type JobRun = PipelineFacts &
  Readonly<{
    deps: VariableDeps;
    job: JobRow;
    spec: JobSpec;
    /** In the whole service; 0 until it has one. */
    number: bigint;
    /** Jobs that left artifacts for it. */
    dependencies: readonly JobRow[];
    /** See mergeRequestVariables, parentVariables and userVariables. */
    more: ReadonlyMap<string, string>;
  }>;

/** For whom a job acts: who played it, else who restarted it, else who started the pipeline. */
export const actorOfJob = (job: JobRow, pipeline: Pick<PipelineRow, "user_id">): UserId | null =>
  job.played_by_id ?? job.reset_by_id ?? pipeline.user_id;

/** Undefined when the pipeline or its project is gone. */
async function pipelineFacts(
  { db, publicUrl }: Pick<VariableDeps, "db" | "publicUrl">,
  { pipeline_id, project_id }: Readonly<{ pipeline_id: string; project_id: string }>,
): Promise<PipelineFacts | undefined> {
  const [pipeline, project] = await Promise.all([
    findPipelineById(db, pipeline_id),
    findProjectById(db, project_id),
  ]);
  if (pipeline === undefined || project === undefined) return undefined;
  const { ref, is_tag: isTag, merge_request: mergeRequest } = pipeline;
  const origin = originOf(pipeline);
  const [isProtected, settings, instance, ofRequests, ofParent, ofUser] = await Promise.all([
    isProtectedRef({ db }, project, { ref, isTag, mergeRequest }),
    variablesOf(db, variableParents(project)),
    findSettings(db),
    mergeRequestVariables({ db, publicUrl }, project, origin),
    parentVariables({ db }, project, origin),
    userVariables({ db }, pipeline.user_id),
  ]);
  return { pipeline, project, isProtected, settings, instance, ofRequests, ofParent, ofUser };
}

/** What was read of a job before. */
export type LoadedForJob = Readonly<{
  /** It never changes. */
  spec?: JobSpec | undefined;
  /** See QueuedJob. */
  hasArtifacts?: boolean | undefined;
}>;

/** Undefined when the job's plan, its pipeline or its project is gone. */
export async function findJobRun(
  deps: VariableDeps,
  job: JobRow,
  loaded: LoadedForJob = {},
): Promise<JobRun | undefined> {
  const [facts, spec] = await Promise.all([
    pipelineFacts(deps, job),
    loaded.spec ?? findJobSpec(deps.db, job.id),
  ]);
  if (facts === undefined || spec === undefined) return undefined;
  const actorId = actorOfJob(job, facts.pipeline);
  const [dependencies, ofUser] = await Promise.all([
    loaded.hasArtifacts === false ? [] : dependenciesOf(deps, job, spec),
    actorId === facts.pipeline.user_id ? facts.ofUser : userVariables(deps, actorId),
  ]);
  const more = new Map([...facts.ofRequests, ...Object.entries({ ...facts.ofParent, ...ofUser })]);
  return { ...facts, deps, job, spec, number: facts.pipeline.number ?? 0n, dependencies, more };
}

function parentOf({ parent_pipeline_id, parent_job_id }: PipelineRow): PipelineOrigin["parent"] {
  if (parent_pipeline_id === null || parent_job_id === null) return null;
  return { pipelineId: parent_pipeline_id, jobId: parent_job_id };
}

/** As the variables of its jobs are made with it. */
export const originOf = (pipeline: PipelineRow): PipelineOrigin => ({
  ref: pipeline.ref,
  isTag: pipeline.is_tag,
  commitId: ObjectId.parse(pipeline.commit_id),
  beforeCommitId: ObjectId.nullable().parse(pipeline.before_commit_id),
  source: pipeline.source,
  userId: pipeline.user_id,
  parent: parentOf(pipeline),
  mergeRequest: pipeline.merge_request,
  startedBy: null,
});

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
