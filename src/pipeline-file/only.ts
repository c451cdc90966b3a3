import { z } from "zod";

import type { PipelineSource } from "../events/pipeline/source.ts";
import type { Values } from "./expand.ts";
import { holds } from "./expression.ts";
import { names, oneOrMany } from "./field.ts";
import { occurs } from "./pattern.ts";
import { Condition, type PathMatcher } from "./rules.ts";

const Policy = z.strictObject({
  refs: names(200).optional(),
  variables: oneOrMany(Condition, 100).optional(),
  changes: names(50).optional(),
  kubernetes: z.unknown().optional(),
});

/** `only` and `except`: a list of refs, or a map of conditions. */
export const OnlyPolicy = z.preprocess(
  (value) => (typeof value === "string" || Array.isArray(value) ? { refs: value } : value),
  Policy,
);
export type OnlyPolicy = z.output<typeof OnlyPolicy>;

export type RefFacts = Readonly<{ ref: string; isTag: boolean; source: PipelineSource }>;

const sourceNames: Readonly<Record<PipelineSource, string>> = {
  PUSH: "pushes",
  TRIGGER: "triggers",
  SCHEDULE: "schedules",
  WEB: "web",
  API: "api",
  PARENT_PIPELINE: "pipelines",
  MERGE_REQUEST_EVENT: "merge_requests",
};

/**
 * Whether a job with neither `rules` nor `only` is part of the pipeline, as `only: [branches, tags]`. Where
 * `workflow: rules` decide about pipelines, it is part of each.
 */
export const defaultOnly: OnlyPolicy = { refs: ["branches", "tags"] };

export async function included(
  only: OnlyPolicy,
  except: OnlyPolicy | undefined,
  facts: RefFacts,
  variables: Values,
  paths: PathMatcher,
): Promise<boolean> {
  const lookup = (name: string) => variables.get(name);
  const projectPath = lookup("CI_PROJECT_PATH");
  const refs = (policy: OnlyPolicy) => policy.refs?.some((each) => fits(each, facts, projectPath));
  const texts = (policy: OnlyPolicy) => policy.variables?.some((each) => holds(each, lookup));
  const changes = async (policy: OnlyPolicy) =>
    policy.changes && (await paths.changed(paths.expand(policy.changes, variables), null));

  if ((refs(only) ?? true) === false || (texts(only) ?? true) === false) return false;
  if ((await changes(only)) === false) return false;
  if (except === undefined) return true;
  return !(refs(except) || texts(except) || (await changes(except)));
}

/** `branches@owner/alias` is for one project, and for none of its forks. A pattern may hold an `@` itself. */
function fits(pattern: string, facts: RefFacts, projectPath: string | undefined): boolean {
  const [, bare = pattern, path] = /^(\/.*\/[ismU]*|[^/@][^@]*|)@(.*)$/s.exec(pattern) ?? [];
  return (path === undefined || path === projectPath) && fitsRef(bare, facts);
}

function fitsRef(bare: string, { ref, isTag, source }: RefFacts): boolean {
  const forMergeRequest = source === "MERGE_REQUEST_EVENT";
  if (bare === "branches") return !isTag && !forMergeRequest;
  if (bare === "tags") return isTag;
  if (bare === sourceNames[source]) return true;
  if (forMergeRequest) return false;
  const parts = /^\/(.*)\/([ismU]*)$/s.exec(bare);
  if (parts === null) return bare === ref;
  return occurs((parts[1] ?? "").replaceAll("\\/", "/"), parts[2] ?? "", ref) === true;
}
