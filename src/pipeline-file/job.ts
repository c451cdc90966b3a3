import type { FileVariable, JobSpec, JobWhen } from "../events/pipeline/job-spec.ts";
import { expander, expandText, type Variables } from "./expand.ts";
import type { FileVariables } from "./field.ts";
import type { CacheConfig, NeedConfig } from "./job-config.ts";
import type { JobConfig } from "./job-schema.ts";
import type { Rule } from "./rules.ts";

/** A job that rules have let in, before its needs are resolved. */
export type ChosenJob = Readonly<{
  name: string;
  config: JobConfig;
  rule: Rule | undefined;
  /** Of the file and the workflow, then of the job and its rule: later ones win. */
  variables: FileVariables;
}>;

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

type Instances = Readonly<{ suffix: string; cell: Readonly<Record<string, string>> | undefined }>;

/** As many as `parallel` may make of a job. */
export const parallelMax = 200;

/** @returns undefined when the matrix makes more than `parallelMax` jobs */
export function instancesOf(
  { name, config, rule, variables }: ChosenJob,
  stageIndex: number,
  cache: JobSpec["cache"],
  predefined: Variables,
): readonly Instance[] | undefined {
  const all = instanceNames(config.parallel);
  if (all === undefined) return undefined;
  return all.map(({ suffix, cell }, index) => {
    const own = new Map(variables);
    for (const [key, value] of Object.entries(cell ?? {})) own.set(key, { value, raw: false });
    const jobName = `${name}${suffix}`;
    const spec = specOf(config, rule);
    const parallel = config.parallel === undefined ? null : { index: index + 1, total: all.length };
    return {
      base: name,
      cell,
      needs: rule?.needs ?? config.needs,
      dependencies: config.dependencies,
      spec: {
        ...spec,
        resourceGroup: resourceGroupOf({ ...spec, name: jobName }, predefined, own),
        name: jobName,
        stageIndex,
        cache,
        parallel,
        variables: listed(own),
      },
    };
  });
}

function instanceNames(parallel: JobConfig["parallel"]): readonly Instances[] | undefined {
  if (parallel === undefined) return [{ suffix: "", cell: undefined }];
  if (typeof parallel === "number") {
    return Array.from({ length: parallel }, (_, index) => ({
      suffix: ` ${index + 1}/${parallel}`,
      cell: undefined,
    }));
  }
  const size = (entry: (typeof parallel.matrix)[number]) =>
    Object.values(entry).reduce((product, values) => product * values.length, 1);
  const total = parallel.matrix.reduce((sum, entry) => sum + size(entry), 0);
  if (total > parallelMax || total === 0) return undefined;
  return cellsOf(parallel.matrix).map((cell) => ({
    suffix: `: [${Object.values(cell).join(", ")}]`,
    cell,
  }));
}

/** Every combination, the last variable changing fastest. */
export function cellsOf(
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

/**
 * The name of the group with the variables of the pipeline, the file and the job. Those of settings are left out, because
 * the name is stored as it is. A name that expands to nothing is none.
 */
function resourceGroupOf(
  { resourceGroup, name, stage, environment }: Pick<JobSpec, "name"> & Own,
  predefined: Variables,
  own: FileVariables,
): string | null {
  if (!resourceGroup?.includes("$")) return resourceGroup;
  const job = { CI_JOB_NAME: name, CI_JOB_STAGE: stage };
  const known = new Map([...predefined, ...Object.entries(job)]);
  const raw = new Set(known.keys());
  for (const [key, variable] of own) {
    known.set(key, variable.value);
    if (variable.raw) raw.add(key);
    else raw.delete(key);
  }
  const look = expander(known, raw);
  const expand = (text: string, more?: string) =>
    expandText(text, (key) => (key === "CI_ENVIRONMENT_NAME" ? more : look(key)));
  return expand(resourceGroup, expand(environment?.name ?? "")) || null;
}

const listed = (variables: FileVariables): FileVariable[] =>
  [...variables].map(([key, { value, raw }]) => ({ key, value, raw }));

type Own = Omit<SpecWithoutOrder, "name" | "stageIndex" | "cache" | "parallel" | "variables">;

function specOf(config: JobConfig, rule: Rule | undefined): Own {
  const when = whenOf(config, rule);
  return {
    stage: config.stage ?? "test",
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

/** @param hash names the content of the files that a key is made of */
export async function cachesOf(
  caches: readonly CacheConfig[] | undefined,
  hash: (paths: readonly string[]) => Promise<string>,
): Promise<JobSpec["cache"]> {
  return Promise.all(
    (caches ?? []).map(async ({ key, ...cache }) => ({
      ...cache,
      paths: [...cache.paths],
      fallbackKeys: [...cache.fallbackKeys],
      key: "key" in key ? key.key : [key.prefix, await hash(key.files)].filter(Boolean).join("-"),
    })),
  );
}
