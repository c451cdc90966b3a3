import { jobNumber } from "../../events/pipeline/number.ts";
import { environmentNameOf } from "../../pipeline-file/environment-name.ts";
import { expandOwnText } from "../../pipeline-file/expand.ts";
import { variablesOfEnvironment, variablesOfJob } from "../../pipeline-file/job-variable.ts";
import { isStorableText } from "../../platform/storable-text.ts";
import type { JobRow, PipelineRow } from "../../projections/pipeline/table.ts";
import { addressesOf } from "../../projections/project/address.ts";
import { commitSource } from "./commit-source.ts";
import { type JobRun, originOf, type VariableDeps } from "./job-run.ts";
import { predefinedVariables } from "./predefined.ts";
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

/** Variables by name, before those of settings. */
type Plain = Readonly<{
  all: Map<string, JobVariable>;
  /** At the start of the pipeline and with the play of the job. */
  given: ReadonlyMap<string, string>;
}>;

export async function plainVariables(run: JobRun): Promise<Plain> {
  const { deps, job, pipeline, project, spec, isProtected, instance, more } = run;
  const repository = await deps.git.find(project.id);
  const origin = originOf(pipeline);
  const ofCommit = await commitSource(repository, origin);
  const addresses = addressesOf(deps, instance);
  const sources = { project, origin, ...ofCommit, isProtected, more, addresses };
  const all = new Map<string, JobVariable>();
  for (const [key, value] of predefinedVariables(sources)) add(all, key, value);
  for (const [key, value] of Object.entries(ofThisJob(run))) add(all, key, value);
  if (spec.image !== null) add(all, "CI_JOB_IMAGE", spec.image.name, { raw: false });
  if (pipeline.name !== null) add(all, "CI_PIPELINE_NAME", pipeline.name, { raw: false });
  for (const { key, value, raw } of spec.variables) add(all, key, value, { raw });
  for (const [key, value] of await reportedVariables(deps, run.dependencies)) {
    add(all, key, value, { public: false });
  }
  return { all, given: await givenVariables(deps, job, pipeline) };
}

function add(
  all: Map<string, JobVariable>,
  key: string,
  value: string,
  change: Partial<JobVariable> = {},
): void {
  all.set(key, { key, value, public: true, masked: false, file: false, raw: true, ...change });
}

/**
 * The name with variables filled in; those of settings, which may depend on it, are unknown. Null for an empty one.
 * `shown` are the variables whose values it holds.
 */
function environmentName(
  { spec }: JobRun,
  { all, given }: Plain,
): Readonly<{ name: string; shown: ReadonlySet<string> }> | null {
  if (spec.environment === null) return null;
  const shown = new Set<string>();
  const lookup = (key: string): string | undefined => {
    shown.add(key);
    return given.get(key) ?? all.get(key)?.value;
  };
  const name = environmentNameOf(spec.environment.name, lookup);
  return name === null ? null : { name, shown };
}

/**
 * Name and address of the environment of a job, their variables filled in; null for none. Masked and
 * protected values are left out of the address, which everybody may see who sees the project. There is
 * none where it names what was given at the start or the play, which may be secret and is kept sealed,
 * unless the name shows it as well.
 */
export async function environmentOfRun(
  run: JobRun,
): Promise<Readonly<{ name: string; url: string | null }> | null> {
  const plain = await plainVariables(run);
  const named = environmentName(run, plain);
  if (named === null) return null;
  return { name: named.name, url: await addressWith(run, plain, named) };
}

/**
 * The address with what the job itself reports, for the name under which it was queued.
 *
 * @param token of the run
 * @returns undefined where it says nothing new, and for an address that holds a masked value
 */
export async function reportedAddress(run: JobRun, token: string): Promise<string | undefined> {
  const { job, spec, dependencies } = run;
  const name = job.environment_name;
  const reports = spec.artifacts?.reports["dotenv"] !== undefined;
  if (name === null || !spec.environment?.url || !reports) return undefined;
  const known = await environmentOfRun(run);
  const plain = await plainVariables({ ...run, dependencies: [...dependencies, job] });
  const shown = environmentName(run, plain)?.shown ?? new Set<string>();
  const url = await addressWith(run, plain, { name, shown });
  if (url === null || url === known?.url) return undefined;
  const { variables } = await variablesOf(run, token);
  const isSecret = variables.some(
    ({ masked, value }) => masked && value !== "" && url.includes(value),
  );
  return isSecret ? undefined : url;
}

async function addressWith(
  run: JobRun,
  plain: Plain,
  { name, shown }: NonNullable<ReturnType<typeof environmentName>>,
): Promise<string | null> {
  const { deps, project, spec } = run;
  const template = spec.environment?.url ?? null;
  if (spec.environment === null || template === null) return null;
  const place = { project, isProtected: false, environment: name };
  const settings = await settingVariables(deps, place, run.settings);
  const ofEnvironment = variablesOfEnvironment(name, { ...spec.environment, url: null });
  const own = new Map(Object.entries(ofEnvironment));
  let isSealed = false;
  const lookup = (key: string): string | undefined => {
    const setting = settings.get(key);
    const open = setting?.masked || setting?.file ? undefined : setting?.value;
    const given = plain.given.get(key);
    if (given !== undefined && !own.has(key) && !shown.has(key)) isSealed = true;
    return own.get(key) ?? given ?? open ?? plain.all.get(key)?.value;
  };
  const url = addressOf(expandOwnText(template, lookup));
  return isSealed ? null : url;
}

const addressLengthMax = 2_048;

/** Null for what browsers do not open as a page, and for what no store keeps. */
function addressOf(text: string): string | null {
  if (text.length > addressLengthMax || !isStorableText(text) || !URL.canParse(text)) return null;
  return /^https?:$/.test(new URL(text).protocol) ? text : null;
}

/**
 * Later ones win: predefined, of the file, of earlier jobs, of settings, of the pipeline, of the play, of the
 * job run.
 */
export async function variablesOf(
  run: JobRun,
  token: string,
): Promise<Readonly<{ variables: readonly JobVariable[]; environment: string | null }>> {
  const { deps, job, project, spec, isProtected } = run;
  const { all, given } = await plainVariables(run);
  // Only the name that was checked when the job was queued: what it is made of may have changed.
  const environment = spec.environment === null ? null : job.environment_name;
  const settings = await settingVariables(
    deps,
    { project, isProtected, environment },
    run.settings,
  );
  for (const [key, { value, masked, file }] of settings) {
    add(all, key, value, { public: false, masked, file, raw: false });
  }
  for (const [key, value] of given) add(all, key, value, { public: false, raw: false });
  if (environment !== null && spec.environment !== null) {
    const ofEnvironment = variablesOfEnvironment(environment, spec.environment);
    for (const [key, value] of Object.entries(ofEnvironment)) {
      add(all, key, value, { raw: key !== "CI_ENVIRONMENT_URL" });
    }
  }
  const secret = { public: false, masked: true } as const;
  add(all, "CI_JOB_TOKEN", token, secret);
  add(all, "CI_REGISTRY_USER", "gitlab-ci-token", { public: false });
  add(all, "CI_REGISTRY_PASSWORD", token, secret);
  return { variables: [...all.values()], environment };
}

function ofThisJob({ deps, job, pipeline, project, spec, number }: JobRun): Record<string, string> {
  const url = `${deps.publicUrl}/project/${project.owner_alias}/${project.alias}/cicd`;
  return {
    CI_PIPELINE_ID: String(number),
    CI_PIPELINE_IID: String(pipeline.local_id ?? ""),
    CI_PIPELINE_URL: `${url}/pipeline/${pipeline.local_id}`,
    CI_PIPELINE_CREATED_AT: pipeline.created_at.toISOString(),
    CI_JOB_ID: String(jobNumber(number, job.place)),
    ...variablesOfJob(spec),
    ...(job.started_at !== null && { CI_JOB_STARTED_AT: job.started_at.toISOString() }),
    CI_JOB_URL: `${url}/job/${job.local_id}`,
  };
}

/** Given at the start of the pipeline, and with the play of the job; what was forgotten is left out. */
async function givenVariables(
  { vault }: VariableDeps,
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
