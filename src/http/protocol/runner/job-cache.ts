import { expander, expandText } from "../../../pipeline-file/expand.ts";
import type { JobVariable } from "../../../services/pipeline/job-variable.ts";
import type { JobPayload } from "../../../services/pipeline/payload.ts";

const fallbackVariable = "CACHE_FALLBACK_KEY";
const protectedVariable = "CI_COMMIT_REF_PROTECTED";

/**
 * The caches of a job. All keys of protected refs end in one way and those of the others in another, whatever a file
 * or a variable says: a branch that is not protected neither changes nor reads what protected ones get. The common
 * fallback key, which a runner would take as it stands, is given as a fallback key of each cache.
 */
export function cachesOf(payload: JobPayload) {
  const { spec, isProtected, variables } = payload;
  if (spec.cache.length === 0) return [];
  const end = isProtected ? "-protected" : "-non_protected";
  // A key is checked with the values that the runner puts into it.
  const given = cacheVariables(payload);
  const values = new Map(given.map(({ key, value }) => [key, value]));
  const raw = new Set(given.flatMap((each) => (each.raw || each.file ? [each.key] : [])));
  const lookup = expander(values, raw);
  const ended = (key: string): string => `${insideOf(referencesOnly(key), lookup)}${end}`;
  const common = commonKey(variables);
  return spec.cache.map(({ key, untracked, policy, paths, when, fallbackKeys }) => ({
    ...{ key: ended(key), untracked, policy, paths, when },
    fallback_keys: [...fallbackKeys, ...common].map(ended),
  }));
}

/**
 * The variables by which a runner chooses caches, as it may take them: an empty fallback key, which also wins over one
 * in the configuration of the runner, and the true protection of the ref, by which it chooses volumes for caches.
 */
export function cacheVariables({ spec, isProtected, variables }: JobPayload): JobVariable[] {
  const flags = { public: true, masked: false, file: false, raw: true };
  const ours = [{ key: protectedVariable, value: String(isProtected), ...flags }];
  if (spec.cache.length > 0) ours.push({ key: fallbackVariable, value: "", ...flags });
  const names = new Set(ours.map(({ key }) => key));
  // The first of two variables of the same name counts for some, the last for others.
  return [...ours, ...variables.filter(({ key }) => !names.has(key))];
}

function commonKey(variables: readonly JobVariable[]): readonly string[] {
  const found = variables.find(({ key }) => key === fallbackVariable);
  if (found === undefined || found.file || found.value === "") return [];
  return [found.raw ? escaped(found.value) : found.value];
}

const escaped = (text: string): string => text.replaceAll("$", "$$$$");

/** Agents differ in what they make of a dollar sign before anything but a name; one at the end would take from the end. */
const referencesOnly = (key: string): string =>
  key.replaceAll(/\$\$|\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$[A-Za-z_]|\$/g, (found) =>
    found === "$" ? "" : found,
  );

/** Runners make paths of keys, and `..` in one would lead to the caches of another project. */
function insideOf(key: string, lookup: (name: string) => string | undefined): string {
  const filled = expandText(key, lookup);
  const kept = filled.replaceAll(/(?:\.|%2e)(?:\.|%2e)/gi, "__");
  return kept === filled ? key : escaped(kept);
}
