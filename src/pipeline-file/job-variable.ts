import type { JobSpec } from "../events/pipeline/job-spec.ts";
import { environmentNameOf, environmentSlug, tierOf } from "./environment-name.ts";
import { layered, type Values } from "./expand.ts";
import type { FileVariables } from "./field.ts";
import type { JobConfig } from "./job-schema.ts";
import type { Rule } from "./rules.ts";
import { slugOf } from "./slug.ts";

type NamedJob = Pick<JobSpec, "name" | "stage" | "parallel"> &
  Readonly<{ when?: string | undefined }>;

/** Predefined variables of a job that are known before it is queued. */
export function variablesOfJob({ name, stage, when, parallel }: NamedJob): Record<string, string> {
  return {
    CI_JOB_NAME: name,
    CI_JOB_NAME_SLUG: slugOf(name),
    CI_JOB_STAGE: stage,
    ...(parallel !== null && { CI_NODE_INDEX: String(parallel.index) }),
    CI_NODE_TOTAL: String(parallel?.total ?? 1),
    ...(when === "manual" && { CI_JOB_MANUAL: "true" }),
  };
}

type Environment = NonNullable<JobSpec["environment"]>;

/** @param name with its variables filled in */
export function variablesOfEnvironment(
  name: string,
  { url, action, tier }: Pick<Environment, "url" | "action" | "tier">,
): Record<string, string> {
  return {
    CI_ENVIRONMENT_NAME: name,
    CI_ENVIRONMENT_SLUG: environmentSlug(name),
    ...(url && { CI_ENVIRONMENT_URL: url }),
    CI_ENVIRONMENT_ACTION: action,
    CI_ENVIRONMENT_TIER: tier ?? tierOf(name),
  };
}

/** A job before its rules are judged: one of those that `parallel` makes, where there is one. */
export type Candidate = Readonly<{
  /** Name in the file. */
  base: string;
  name: string;
  config: JobConfig;
  /** Of the file and the workflow, then of the job: later ones win. */
  variables: FileVariables;
  /** Of the matrix; they win over those above. */
  cell: Readonly<Record<string, string>> | undefined;
  parallel: JobSpec["parallel"];
}>;

/** Variables of the rule that lets it in win over its others. */
type Judged = Candidate & Readonly<{ rule?: Rule | undefined }>;

export const stageOf = ({ stage }: Pick<JobConfig, "stage">): string => stage ?? "test";

/** What surrounds a file. */
export type OuterVariables = Readonly<{
  /** Variables that those of the file win over. */
  predefined: Values;
  /** Variables that win over those of the file. */
  outer: Values;
  /** Of these, the ones that were given at the start. */
  atStart: Values;
}>;

/**
 * What the conditions of a job see, each variable as it is written. The name of its environment is expanded as when the
 * job is queued: without variables of settings.
 */
export function seenBy(
  { name, config, variables, cell, parallel, rule }: Judged,
  { predefined, outer, atStart }: OuterVariables,
): Values {
  const { when, environment } = config;
  const own = new Map(
    Object.entries(variablesOfJob({ name, stage: stageOf(config), when, parallel })),
  );
  const ofFile: Values = { get: (key) => variables.get(key)?.value };
  const ofRule: Values = { get: (key) => rule?.variables?.get(key)?.value };
  const ofMatrix = new Map(Object.entries(cell ?? {}));
  const inside = layered(ofRule, ofMatrix, ofFile, own, predefined);
  if (environment !== undefined) {
    const { get } = layered(atStart, inside);
    const environmentName = environmentNameOf(environment.name, get);
    if (environmentName !== null) {
      const more = Object.entries(variablesOfEnvironment(environmentName, environment));
      for (const [key, value] of more) own.set(key, value);
    }
  }
  return layered(outer, inside);
}
