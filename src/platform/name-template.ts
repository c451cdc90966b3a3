import { RE2JS } from "re2js";

import { invariant } from "./invariant.ts";
import { linearPattern } from "./linear-pattern.ts";

/** Longer templates are refused at the edge; names of refs are at most this long as well. */
export const templateLengthMax = 255;

/** Whether a name of a branch, tag or environment fits a template. */
export type NameMatcher = (name: string) => boolean;

/**
 * Prepares a template: `*` matches any run without `/`, `**` for any run, `?` for one character,
 * everything else for itself, in its case.
 */
export function compileTemplate(template: string): NameMatcher {
  if (!/[*?]/.test(template)) return (name) => name === template;
  const source = template.replaceAll(/\*\*+|\*|\?|[^*?]+/g, (token) => {
    if (token === "*") return "[^/]*";
    if (token === "?") return ".";
    return token.startsWith("*") ? ".*" : RE2JS.quote(token);
  });
  const pattern = linearPattern(`(?s)${source}`);
  invariant(pattern !== null, "all that a template holds is quoted");
  return (name) => pattern.matches(name);
}

/** For one name; who has many compiles the template once. */
export function matchesTemplate(template: string, name: string): boolean {
  return compileTemplate(template)(name);
}
