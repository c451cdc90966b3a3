import type { JobSpec } from "../../events/pipeline/job-spec.ts";
import { jobNumber } from "../../events/pipeline/number.ts";
import type { JobRow, PipelineRow } from "../../projections/pipeline/table.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { findJobRun, type JobRun, type LoadedForJob, type VariableDeps } from "./job-run.ts";
import { type JobVariable, variablesOf } from "./job-variable.ts";

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

const depthDefault = 20;

/**
 * Puts together what a job is run with: its stored plan, the variables in force now, and secrets.
 *
 * @param token of the run; it is a variable and never part of a URL here
 * @returns undefined when the job, its pipeline or its project is gone
 */
export async function jobPayload(
  deps: VariableDeps,
  job: JobRow,
  token: string,
  loaded?: LoadedForJob,
): Promise<JobPayload | undefined> {
  const run = await findJobRun(deps, job, loaded);
  if (run === undefined || run.pipeline.number === null) return undefined;
  const { pipeline, project, spec, isProtected, dependencies, number } = run;
  const { variables, environment } = await variablesOf(run, token);
  const depth = Number(variables.find(({ key }) => key === "GIT_DEPTH")?.value ?? depthDefault);
  const masked = variables.filter((each) => each.masked).map(({ value }) => value);
  return {
    number: jobNumber(number, job.place),
    pipelineNumber: Number(number),
    ...{ job, pipeline, project, spec, isProtected, variables, masked, environment },
    steps: stepsOf(spec),
    dependencies,
    git: gitOf(run, Number.isSafeInteger(depth) && depth >= 0 ? depth : depthDefault),
  };
}

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
function gitOf({ deps, pipeline, project, number }: JobRun, depth: number): JobPayload["git"] {
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
