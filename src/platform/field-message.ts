import type { z } from "zod";

type Issue = z.core.$ZodRawIssue;

const kinds: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** What is wrong with a field, for people. Undefined for mistakes that zod, or the schema, describes itself. */
export function fieldMessage(issue: Issue): string | undefined {
  const { input } = issue;
  const isMissing = input === undefined || input === null;
  switch (issue.code) {
    case "invalid_type": {
      if (isMissing) return "It is missing.";
      const kind = kinds[issue.expected];
      return kind === undefined ? undefined : `It must be ${kind}.`;
    }
    case "invalid_value": {
      const values = issue.values.map(String).join(", ");
      return isMissing ? `It is missing: one of ${values}.` : `It must be one of ${values}.`;
    }
    case "too_small":
      return tooSmall(issue);
    case "too_big":
      return tooBig(issue);
    default:
      return undefined;
  }
}

function tooSmall({ input, origin, minimum, inclusive }: z.core.$ZodRawIssue<TooSmall>) {
  if (inclusive === false) return undefined;
  if (typeof input === "string" && input.trim() === "") return "It must not be empty.";
  return `It must ${amount(origin, `at least ${minimum}`)}.`;
}

function tooBig({ origin, maximum, inclusive }: z.core.$ZodRawIssue<TooBig>) {
  return inclusive === false ? undefined : `It must ${amount(origin, `at most ${maximum}`)}.`;
}

type TooSmall = z.core.$ZodIssueTooSmall;
type TooBig = z.core.$ZodIssueTooBig;

function amount(origin: string, limit: string): string {
  if (origin === "string") return `have ${limit} characters`;
  return origin === "array" || origin === "set" ? `have ${limit} entries` : `be ${limit}`;
}
