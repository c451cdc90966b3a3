import { LRUCache } from "lru-cache";
import { z } from "zod";

import { expander, expandOwnText, type Values } from "./expand.ts";
import { type Expression, ExpressionError, holds, parseExpression } from "./expression.ts";
import { flag, names, StartIn, text, variables } from "./field.ts";
import { AllowFailure, Needs } from "./job-config.ts";
import { patternLengthMax as globLengthMax, globMatcher } from "./pattern.ts";

/** Conditions of a file are parsed once each, however many jobs carry them. */
const parsed = new LRUCache<string, Expression | string>({ max: 5_000 });

/** The parsed condition, or what is wrong with it. */
function conditionOf(source: string): Expression | string {
  const known = parsed.get(source);
  if (known !== undefined) return known;
  let condition: Expression | string;
  try {
    condition = parseExpression(source);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    condition = error.message;
  }
  parsed.set(source, condition);
  return condition;
}

export const Condition = text().transform((source, context): Expression => {
  const condition = conditionOf(source);
  if (typeof condition !== "string") return condition;
  context.addIssue({ code: "custom", message: condition });
  return z.NEVER;
});

const Globs = names(50);

const Changes = z.union(
  [
    Globs.transform((paths) => ({ paths, compareTo: null })),
    z
      .strictObject({ paths: Globs, compare_to: text(255).optional() })
      .transform(({ paths, compare_to: compareTo }) => ({ paths, compareTo: compareTo ?? null })),
  ],
  { error: "It must be a list of paths, or {paths: …, compare_to: …}." },
);

const Exists = z.union([Globs, z.strictObject({ paths: Globs }).transform(({ paths }) => paths)], {
  error: "It must be a list of paths, or {paths: …}.",
});

/** What is left out comes from elsewhere: `workflow: rules` override `workflow`. */
export const AutoCancel = z.strictObject({
  on_new_commit: z.enum(["conservative", "interruptible", "none"]).optional(),
  on_job_failure: z.enum(["all", "none"]).optional(),
});

const Rule = z.strictObject({
  if: Condition.optional(),
  changes: z
    .preprocess((value) => (typeof value === "string" ? [value] : value), Changes)
    .optional(),
  exists: z.preprocess((value) => (typeof value === "string" ? [value] : value), Exists).optional(),
  when: z
    .enum(["on_success", "on_failure", "always", "manual", "delayed", "never"], {
      error: "It must be on_success, on_failure, always, manual, delayed or never.",
    })
    .optional(),
  start_in: StartIn.optional(),
  allow_failure: AllowFailure.optional(),
  variables: variables.optional(),
  needs: Needs.optional(),
  interruptible: flag.optional(),
  auto_cancel: AutoCancel.optional(),
});
export type Rule = z.output<typeof Rule>;

export const Rules = z
  .preprocess(
    (value) => (Array.isArray(value) ? value.flat(10) : value),
    z
      .array(Rule, { error: "It must be a list of rules." })
      .max(200, { error: "There are more than 200 rules." }),
  )
  .transform((rules): readonly Rule[] => rules);

/** What rules query of the repository. Each answer is computed once for a pipeline. */
export type RepositoryFacts = Readonly<{
  /**
   * Paths that differ from what was there before, or from the named ref; undefined when there is
   * nothing to compare with, which counts as everything. `no such ref`: the name is none.
   */
  changedPaths: (
    compareTo: string | null,
  ) => Promise<readonly string[] | undefined | "no such ref">;
  /** All paths of the commit. */
  paths: () => Promise<readonly string[]>;
}>;

/** Comparisons of paths with globs that one pipeline may make. */
const comparisonsMax = 2_000_000;

/** Characters of values of variables that it may look up for them, and what each lookup counts beside. */
const [expandedMax, lookupLength] = [16 * 1024 ** 2, 16];

/** Matches globs against paths, and remembers the answers. */
export class PathMatcher {
  readonly #facts: RepositoryFacts;
  readonly #answers = new Map<string, Promise<boolean>>();
  #comparisons = 0;
  #expanded = 0;

  constructor(facts: RepositoryFacts) {
    this.#facts = facts;
  }

  /**
   * Globs with variables filled in. What is not defined stays as it is written: an empty part could match everything. So
   * does what becomes too long for a glob.
   *
   * @throws UnanswerableRule
   */
  expand(globs: readonly string[], variables: Values): readonly string[] {
    if (!globs.some((glob) => /[$%]/.test(glob))) return globs;
    const look = expander(variables, new Set(), (length) => {
      this.#expanded += length + lookupLength;
      if (this.#expanded > expandedMax) {
        throw new UnanswerableRule("The paths of the rules name too many and too long variables.");
      }
    });
    return globs.map((glob) => {
      const text = expandOwnText(glob, look, { keep: true });
      return text.length > globLengthMax ? glob : text;
    });
  }

  /** @throws UnanswerableRule */
  changed(globs: readonly string[], compareTo: string | null): Promise<boolean> {
    return this.#remembered(`changed ${compareTo} ${globs.join("\0")}`, async () => {
      const paths = await this.#facts.changedPaths(compareTo);
      if (paths === "no such ref") {
        throw new UnanswerableRule(`compare_to names no branch, tag or commit: ${compareTo}.`);
      }
      return paths === undefined || this.#any(globs, paths);
    });
  }

  /** @throws UnanswerableRule */
  exists(globs: readonly string[]): Promise<boolean> {
    return this.#remembered(`exists ${globs.join("\0")}`, async () =>
      this.#any(globs, await this.#facts.paths()),
    );
  }

  #remembered(key: string, answer: () => Promise<boolean>): Promise<boolean> {
    const known = this.#answers.get(key) ?? answer();
    this.#answers.set(key, known);
    return known;
  }

  #any(globs: readonly string[], paths: readonly string[]): boolean {
    return globs.some((glob) => {
      const matches = globMatcher(glob.replace(/^\.?\//, ""));
      if (matches === undefined) return false;
      this.#comparisons += paths.length;
      if (this.#comparisons > comparisonsMax) {
        throw new UnanswerableRule("The rules compare too many paths with too many globs.");
      }
      return paths.some(matches);
    });
  }
}

/** Its message says why the rules of a file cannot be answered. */
export class UnanswerableRule extends Error {
  override readonly name = "UnanswerableRule";
}

/**
 * The first rule that applies; undefined when none does.
 *
 * @param variables what the conditions see, by name
 */
export async function ruleFor(
  rules: readonly Rule[],
  variables: Values,
  paths: PathMatcher,
): Promise<Rule | undefined> {
  const lookup = (name: string) => variables.get(name);
  for (const rule of rules) {
    if (rule.if !== undefined && !holds(rule.if, lookup)) continue;
    const { changes, exists } = rule;
    if (changes !== undefined) {
      const { paths: globs, compareTo } = changes;
      const [other = null] = paths.expand(compareTo === null ? [] : [compareTo], variables);
      if (!(await paths.changed(paths.expand(globs, variables), other))) continue;
    }
    if (exists !== undefined && !(await paths.exists(paths.expand(exists, variables)))) continue;
    return rule;
  }
  return undefined;
}
