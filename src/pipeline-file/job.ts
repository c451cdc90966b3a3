import type { FileVariable, JobSpec, JobWhen } from "../events/pipeline/job-spec.ts";
import { expander, expandOwnText, layered, type Values, type Variables } from "./expand.ts";
import type { FileVariables } from "./field.ts";
import { type CacheConfig, cachePolicyOf, type NeedConfig } from "./job-config.ts";
import type { JobConfig } from "./job-schema.ts";
import { type Candidate, stageOf, variablesOfJob } from "./job-variable.ts";
import type { Rule } from "./rules.ts";

/** A job that rules have let in, before its needs are resolved. */
export type ChosenJob = Candidate & Readonly<{ rule: Rule | undefined }>;

export type SpecWithoutOrder = Omit<JobSpec, "needs" | "dependencies">;

/** One of the jobs that `parallel` makes of one. */
export type Instance = Readonly<{
  /** Name in the file. */
  base: string;
  spec: SpecWithoutOrder;
  /** Of the matrix. */
  cell: Readonly<Record<string, string>> | undefined;
  needs: readonly NeedConfig[] | undefined;
  dependencies: readonly string[] | undefined;
}>;

/** As many as `parallel` may make of a job. */
export const parallelMax = 200;

/**
 * The jobs that `parallel` makes of one, or the one that it is.
 *
 * @returns undefined when the matrix makes more than `parallelMax` jobs, or none
 */
export function candidatesOf(
  base: string,
  config: JobConfig,
  variables: FileVariables,
): readonly Candidate[] | undefined {
  const { parallel } = config;
  const common = { base, config, variables };
  if (parallel === undefined) return [{ ...common, name: base, cell: undefined, parallel: null }];
  if (typeof parallel === "number") {
    return Array.from({ length: parallel }, (_, index) => ({
      ...common,
      name: `${base} ${index + 1}/${parallel}`,
      cell: undefined,
      parallel: { index: index + 1, total: parallel },
    }));
  }
  const size = (entry: (typeof parallel.matrix)[number]) =>
    Object.values(entry).reduce((product, values) => product * values.length, 1);
  const total = parallel.matrix.reduce((sum, entry) => sum + size(entry), 0);
  if (total > parallelMax || total === 0) return undefined;
  return cellsOf(parallel.matrix).map((cell, index) => ({
    ...common,
    name: `${base}: [${Object.values(cell).join(", ")}]`,
    cell,
    parallel: { index: index + 1, total },
  }));
}

export function instanceOf(
  { base, name, config, rule, variables, cell, parallel }: ChosenJob,
  stageIndex: number,
  cache: JobSpec["cache"],
  predefined: Variables,
): Instance {
  const own = new Map(variables);
  for (const [key, value] of Object.entries(cell ?? {})) own.set(key, { value, raw: false });
  for (const [key, variable] of rule?.variables ?? []) own.set(key, variable);
  const spec = { ...specOf(config, rule), name, parallel };
  const look = openVariables(spec, predefined, own);
  return {
    base,
    cell,
    needs: rule?.needs ?? config.needs,
    dependencies: config.dependencies,
    spec: {
      ...spec,
      resourceGroup: resourceGroupOf(spec, look),
      tags: tagsOf(spec, look),
      stageIndex,
      cache,
      variables: listed(own),
    },
  };
}

/** Every combination, the last variable changing fastest. */
function cellsOf(
  matrix: readonly Readonly<Record<string, readonly string[]>>[],
): readonly Readonly<Record<string, string>>[] {
  return matrix.flatMap((entry) =>
    Object.entries(entry).reduce<Readonly<Record<string, string>>[]>(
      (cells, [key, values]) =>
        cells.flatMap((cell) => values.map((value) => ({ ...cell, [key]: value }))),
      [{}],
    ),
  );
}

type Named = Pick<JobSpec, "name" | "parallel"> & Own;

/**
 * Looks up the variables of the pipeline, the file and the job. Those of settings and of the start are left out: what is
 * made of these is stored as it is.
 */
function openVariables(job: Named, predefined: Variables, own: FileVariables) {
  const ofFile: Values = { get: (key) => own.get(key)?.value };
  const ofJob = new Map(Object.entries(variablesOfJob(job)));
  const raw = { has: (key: string) => own.get(key)?.raw ?? true };
  return expander(layered(ofFile, ofJob, predefined), raw);
}

type Lookup = ReturnType<typeof openVariables>;

/** One that expands to nothing is none. */
function resourceGroupOf({ resourceGroup, environment }: Named, look: Lookup): string | null {
  if (resourceGroup === null || !/[$%]/.test(resourceGroup)) return resourceGroup;
  const name = expandOwnText(environment?.name ?? "", look);
  return (
    expandOwnText(resourceGroup, (key) => (key === "CI_ENVIRONMENT_NAME" ? name : look(key))) ||
    null
  );
}

/** What is not defined, or empty, stays as it is written: a job without tags would run anywhere. */
const tagsOf = ({ tags }: Named, look: Lookup): string[] =>
  tags.map((tag) => expandOwnText(tag, look, { keep: true }) || tag);

const listed = (variables: FileVariables): FileVariable[] =>
  [...variables].map(([key, { value, raw }]) => ({ key, value, raw }));

type Own = Omit<SpecWithoutOrder, "name" | "stageIndex" | "cache" | "parallel" | "variables">;

function specOf(config: JobConfig, rule: Rule | undefined): Own {
  const when = whenOf(config, rule);
  return {
    stage: stageOf(config),
    beforeScript: config.trigger === undefined ? (config.before_script ?? []) : [],
    script: config.script ?? config.scripts ?? [],
    afterScript: config.trigger === undefined ? (config.after_script ?? []) : [],
    preGetSources: config.hooks ?? [],
    image: config.image ?? null,
    services: [...(config.services ?? [])],
    tags: [...(config.tags ?? [])],
    when,
    startInSeconds: when === "delayed" ? (rule?.start_in ?? config.start_in ?? 0) : null,
    allowFailure: allowFailureOf(config, rule),
    artifacts: config.artifacts ?? null,
    environment: config.environment ?? null,
    retry: config.retry ?? { max: 0, when: [], exitCodes: [] },
    timeoutSeconds: config.timeout ?? null,
    interruptible: rule?.interruptible ?? config.interruptible ?? false,
    resourceGroup: config.resource_group ?? null,
    release: config.release ?? null,
    trigger: config.trigger ?? null,
    coverage: config.coverage ?? null,
  };
}

function whenOf({ when }: JobConfig, rule: Rule | undefined): JobWhen {
  const chosen = rule?.when ?? when ?? "on_success";
  // Jobs whose rule says never are not chosen.
  return chosen === "never" ? "on_success" : chosen;
}

/** A manual job may fail unless it says otherwise; one that a rule makes manual holds the pipeline. */
function allowFailureOf(config: JobConfig, rule: Rule | undefined): JobSpec["allowFailure"] {
  const given = rule?.allow_failure ?? config.allow_failure;
  if (given !== undefined) return given;
  const always = config.when === "manual" && config.rules === undefined;
  return { always, exitCodes: [] };
}

export type KeyedCache = Omit<CacheConfig, "key"> & Readonly<{ key: string }>;

/** @param hash names the content of the files that a key is made of */
export async function cachesOf(
  caches: readonly CacheConfig[] | undefined,
  hash: (paths: readonly string[]) => Promise<string>,
): Promise<readonly KeyedCache[]> {
  return Promise.all(
    (caches ?? []).map(async ({ key, ...cache }) => ({
      ...cache,
      key: "key" in key ? key.key : [key.prefix, await hash(key.files)].filter(Boolean).join("-"),
    })),
  );
}

/** @returns undefined where a policy becomes none */
export function withPolicy(
  caches: readonly KeyedCache[],
  expand: (text: string) => string,
): JobSpec["cache"] | undefined {
  const made: JobSpec["cache"] = [];
  for (const cache of caches) {
    const policy = cachePolicyOf(expand(cache.policy));
    if (policy === undefined) return undefined;
    const { paths, fallbackKeys } = cache;
    made.push({ ...cache, paths: [...paths], fallbackKeys: [...fallbackKeys], policy });
  }
  return made;
}
