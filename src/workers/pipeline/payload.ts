import { ObjectId } from "../../events/core/ids.ts";
import type { FileVariable, JobSpec } from "../../events/pipeline/job-spec.ts";
import { jobNumber } from "../../events/pipeline/number.ts";
import { expandText } from "../../platform/pipeline-file/expand.ts";
import { allJobs, findJobSpec, findPipelineById } from "../../projections/pipeline/query.ts";
import type { JobRow, PipelineRow } from "../../projections/pipeline/table.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../core/deps.ts";
import { isProtectedRef } from "./create.ts";
import { predefinedVariables, slugOf } from "./predefined.ts";
import { reportedVariables } from "./reported-variable.ts";
import { settingVariables } from "./setting-variable.ts";

export type JobVariable = Readonly<{
  key: string;
  value: string;
  /** Given to containers of services as well: false for secrets. */
  public: boolean;
  masked: boolean;
  file: boolean;
  /** The agent expands no references in it. */
  raw: boolean;
}>;

/** All that an agent needs to run a job, beside what belongs to the agent and to artifacts. */
export type JobPayload = Readonly<{
  number: number;
  pipelineNumber: number;
  job: JobRow;
  pipeline: PipelineRow;
  project: ProjectRow;
  spec: JobSpec;
  isProtected: boolean;
  variables: readonly JobVariable[];
  /** Values that may not stand in the log. */
  masked: readonly string[];
  /** `script` (with what comes before it) and `after_script`, and the lines of each. */
  steps: readonly Readonly<{
    name: string;
    script: readonly string[];
    when: "on_success" | "always";
  }>[];
  /** Jobs whose artifacts are fetched, in the order of stages. */
  dependencies: readonly JobRow[];
  git: Readonly<{
    /** Without credentials. */
    url: string;
    ref: string;
    sha: string;
    beforeSha: string | null;
    refType: "branch" | "tag";
    /** 0: everything. */
    depth: number;
    refspecs: readonly string[];
  }>;
  environment: string | null;
}>;

type PayloadDeps = Pick<WorkerDeps, "db" | "git" | "vault" | "blobs" | "publicUrl">;

const depthDefault = 20;

/**
 * Puts together what a job is run with: its stored plan, the variables in force now, and secrets.
 *
 * @param token of the run; it is a variable and never part of a URL here
 * @returns undefined when the job, its pipeline or its project is gone
 */
export async function jobPayload(
  deps: PayloadDeps,
  job: JobRow,
  token: string,
): Promise<JobPayload | undefined> {
  const [pipeline, project, spec] = await Promise.all([
    findPipelineById(deps.db, job.pipeline_id),
    findProjectById(deps.db, job.project_id),
    findJobSpec(deps.db, job.id),
  ]);
  if (pipeline === undefined || project === undefined || spec === undefined) return undefined;
  if (pipeline.number === null) return undefined;
  const isProtected = await isProtectedRef(deps, project, {
    ref: pipeline.ref,
    isTag: pipeline.is_tag,
  });
  const dependencies = await dependenciesOf(deps, job, spec);
  const number = pipeline.number;
  const found = { deps, job, pipeline, project, spec, isProtected, number, dependencies };
  const { variables, environment } = await variablesOf(found, token);
  const depth = Number(variables.find(({ key }) => key === "GIT_DEPTH")?.value ?? depthDefault);
  const masked = variables.filter((each) => each.masked).map(({ value }) => value);
  return {
    number: jobNumber(number, job.place),
    pipelineNumber: Number(number),
    ...{ job, pipeline, project, spec, isProtected, variables, masked, environment },
    steps: stepsOf(spec),
    dependencies,
    git: gitOf(found, Number.isSafeInteger(depth) && depth >= 0 ? depth : depthDefault),
  };
}

type Found = Readonly<{
  deps: PayloadDeps;
  job: JobRow;
  pipeline: PipelineRow;
  project: ProjectRow;
  spec: JobSpec;
  isProtected: boolean;
  number: bigint;
  dependencies: readonly JobRow[];
}>;

function stepsOf({ beforeScript, script, afterScript }: JobSpec): JobPayload["steps"] {
  const main = {
    name: "script",
    script: [...beforeScript, ...script],
    when: "on_success",
  } as const;
  if (afterScript.length === 0) return [main];
  return [main, { name: "after_script", script: afterScript, when: "always" }];
}

/**
 * The commit is fetched by its id, into a ref of the pipeline in the agent's clone: a branch that moved
 * or went away in the meantime does not matter.
 */
function gitOf({ deps, pipeline, project, number }: Found, depth: number): JobPayload["git"] {
  const { ref, is_tag, commit_id, before_commit_id } = pipeline;
  const all = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
  return {
    url: `${deps.publicUrl}/project/${project.owner_alias}/${project.alias}.git`,
    ref,
    sha: commit_id,
    beforeSha: before_commit_id,
    refType: is_tag ? "tag" : "branch",
    depth,
    refspecs: [`+${commit_id}:refs/pipelines/${number}`, ...(depth === 0 ? all : [])],
  };
}

/** With `dependencies` those named, with `needs` those that say so, else all of earlier stages. */
export async function dependenciesOf(
  { db }: Pick<PayloadDeps, "db">,
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

/**
 * Later ones win: predefined, of the file, of earlier jobs, of settings, of the pipeline, of the play, of the
 * job run.
 */
async function variablesOf(
  found: Found,
  token: string,
): Promise<Readonly<{ variables: readonly JobVariable[]; environment: string | null }>> {
  const { deps, job, pipeline, project, spec, isProtected } = found;
  const repository = await deps.git.find(project.id);
  const commit = await repository?.objects.commit(pipeline.commit_id);
  const origin = {
    ref: pipeline.ref,
    isTag: pipeline.is_tag,
    commitId: ObjectId.parse(pipeline.commit_id),
    beforeCommitId: ObjectId.nullable().parse(pipeline.before_commit_id),
    source: pipeline.source,
    userId: pipeline.user_id,
    parent: null,
    mergeRequest: pipeline.merge_request,
    startedBy: null,
  };
  const sources = { project, origin, commit, isProtected, publicUrl: deps.publicUrl };
  const all = new Map<string, JobVariable>();
  const add = (key: string, value: string, change: Partial<JobVariable> = {}): void => {
    all.set(key, { key, value, public: true, masked: false, file: false, raw: true, ...change });
  };
  for (const [key, value] of predefinedVariables(sources)) add(key, value);
  for (const [key, value] of ofThisJob(found)) add(key, value);
  for (const { key, value, raw } of spec.variables as readonly FileVariable[])
    add(key, value, { raw });
  for (const [key, value] of await reportedVariables(deps, found.dependencies)) {
    add(key, value, { public: false });
  }
  const given = await givenVariables(deps, job, pipeline);
  const lookup = (key: string) => given.get(key) ?? all.get(key)?.value;
  const environment =
    spec.environment === null ? null : expandText(spec.environment.name, lookup).slice(0, 255);
  const settings = await settingVariables(deps, { project, isProtected, environment });
  for (const [key, { value, masked, file }] of settings) {
    add(key, value, { public: false, masked, file, raw: false });
  }
  for (const [key, value] of given) add(key, value, { public: false, raw: false });
  if (environment !== null) {
    add("CI_ENVIRONMENT_NAME", environment);
    add("CI_ENVIRONMENT_SLUG", slugOf(environment));
    if (spec.environment?.url) add("CI_ENVIRONMENT_URL", spec.environment.url, { raw: false });
  }
  const secret = { public: false, masked: true } as const;
  add("CI_JOB_TOKEN", token, secret);
  add("CI_REGISTRY_USER", "gitlab-ci-token", { public: false });
  add("CI_REGISTRY_PASSWORD", token, secret);
  return { variables: [...all.values()], environment };
}

function ofThisJob({ deps, job, pipeline, project, spec, number }: Found): [string, string][] {
  const url = `${deps.publicUrl}/project/${project.owner_alias}/${project.alias}/cicd`;
  const own = String(jobNumber(number, job.place));
  return [
    ["CI_PIPELINE_ID", String(number)],
    ["CI_PIPELINE_IID", String(pipeline.local_id ?? "")],
    ["CI_PIPELINE_URL", `${url}/pipeline/${pipeline.local_id}`],
    ["CI_PIPELINE_CREATED_AT", pipeline.created_at.toISOString()],
    ["CI_JOB_ID", own],
    ["CI_JOB_NAME", spec.name],
    ["CI_JOB_NAME_SLUG", slugOf(spec.name)],
    ["CI_JOB_STAGE", spec.stage],
    ["CI_JOB_URL", `${url}/job/${job.local_id}`],
    ...(spec.parallel === null
      ? ([["CI_NODE_TOTAL", "1"]] as [string, string][])
      : ([
          ["CI_NODE_INDEX", String(spec.parallel.index)],
          ["CI_NODE_TOTAL", String(spec.parallel.total)],
        ] as [string, string][])),
    ...(spec.when === "manual" ? ([["CI_JOB_MANUAL", "true"]] as [string, string][]) : []),
  ];
}

/** Given at the start of the pipeline, and with the play of the job; what was forgotten is left out. */
async function givenVariables(
  { vault }: PayloadDeps,
  job: JobRow,
  pipeline: PipelineRow,
): Promise<ReadonlyMap<string, string>> {
  const all = new Map<string, string>();
  for (const sealed of [pipeline.variables, job.variables]) {
    const text = sealed === null ? null : await vault.open(sealed);
    if (text === null) continue;
    for (const [key, value] of Object.entries(JSON.parse(text) as Record<string, string>)) {
      all.set(key, value);
    }
  }
  return all;
}
