import { z } from "zod";

import { InstantOrDay } from "../../events/core/ids.ts";
import { OutboundRefused } from "../../platform/outbound/url.ts";
import { type FieldError, Refusal } from "../../platform/refusal.ts";
import { clipText, notInLine } from "../../platform/storable-text.ts";

/** Longest alias, branch, tag or hash that is looked up: none that exists is longer. */
export const nameLengthMax = 255;
/** Longest path of a file in a repository, as that of a way back to a page. */
export const pathLengthMax = 4_096;

const booleans: Readonly<Record<string, boolean>> = { true: true, false: false, 1: true, 0: false };

/** A boolean; also as a text in any case, or as 1 and 0, as some clients send it. */
export function bool() {
  return z.preprocess((value) => {
    const isText = typeof value === "string" || typeof value === "number";
    return isText ? (booleans[String(value).toLowerCase()] ?? value) : value;
  }, z.boolean());
}

/** An integer; quoted ("5") as some clients send it, and as every query does. */
export function int(range: Readonly<{ min?: number; max?: number }> = {}) {
  let schema = z.int();
  if (range.min !== undefined) schema = schema.min(range.min);
  if (range.max !== undefined) schema = schema.max(range.max);
  return z.preprocess(
    (value) => (typeof value === "string" && /^-?\d{1,16}$/.test(value) ? Number(value) : value),
    schema,
  );
}

const valuesMax = 100;

/** A filter by an enumeration: any of some values, each given by itself or several split at commas. */
export function several<Value extends z.ZodType>(value: Value) {
  return z
    .preprocess(splitAtCommas, z.array(value).max(valuesMax).optional())
    .optional()
    .meta({ description: "May be given several times, or as several values split at commas." });
}

/** Undefined without any value: then nothing is filtered. */
export function splitAtCommas(given: unknown): unknown {
  const parts = [given].flat().flatMap((one: unknown) => {
    return typeof one === "string" ? one.split(",").map((part) => part.trim()) : [one];
  });
  const values = new Set(parts.filter((part) => part !== "" && part !== undefined));
  return values.size === 0 ? undefined : [...values];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused.
const controlInProse = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/**
 * What people write, of any number of lines. Control characters are no part of it: as JSON each takes six
 * bytes, and a terminal that shows the text obeys them.
 */
export function prose(lengthMax: number) {
  return z
    .string()
    .max(lengthMax)
    .superRefine(refuseCharacter(controlInProse, "Only tabs and line ends are taken"));
}

/** A title or name: one line, which may begin a commit message or a mail. */
export function oneLine(lengthMax: number) {
  const taken = "It is one line without tabs";
  return z.string().trim().min(1).max(lengthMax).superRefine(refuseCharacter(notInLine, taken));
}

/** @param taken what the message says is allowed */
function refuseCharacter(pattern: RegExp, taken: string) {
  return (text: string, context: z.RefinementCtx): void => {
    const at = text.search(pattern);
    if (at < 0) return;
    const number = text.charCodeAt(at).toString(16).toUpperCase().padStart(4, "0");
    const from = number === "001B" ? " (escape: remove the colors of the terminal)" : "";
    const message = `Character ${at + 1} is the control character U+${number}${from}. ${taken}`;
    context.addIssue({
      code: "custom",
      params: { code: "error.field.control_character" },
      message,
    });
  };
}

/** A time that a query or body gives: an instant with its zone, or a day, which begins in UTC. */
export const timeOrDay = () =>
  InstantOrDay.meta({ examples: ["2026-01-02T03:04:05.678Z"] })
    .transform((text) => new Date(text))
    .meta({ description: "ISO 8601: a time with its zone, or a day, which begins in UTC." });

/** A time in an answer: ISO 8601, UTC, milliseconds. */
export function instant() {
  return z.codec(z.date(), z.iso.datetime({ precision: 3 }), {
    decode: (date) => date.toISOString(),
    encode: (text) => new Date(text),
  });
}

export type Checked<T> =
  | Readonly<{ ok: true; data: T }>
  | Readonly<{ ok: false; errors: readonly FieldError[] }>;

/** Checks what a caller sent, listing everything that is wrong with it. */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): Checked<z.output<Schema>> {
  const result = schema.safeParse(value, { error: messageOf, reportInput: true });
  if (result.success) return { ok: true, data: result.data };
  const issues = result.error.issues.slice(0, errorsMax);
  return { ok: false, errors: once(issues.map(fieldError)) };
}

/** The same for input that is no part of a declared operation. @throws Refusal 422 that lists every mistake */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown) {
  const result = check(schema, value);
  if (!result.ok) throw invalid(result.errors);
  return result.data;
}

/** One text may break several rules in the same way: an empty one is too short and of no form. */
function once(errors: readonly FieldError[]): readonly FieldError[] {
  const seen = new Set<string>();
  return errors.filter(({ field, code }) => {
    const key = `${field} ${code}`;
    return !seen.has(key) && seen.add(key);
  });
}

/** More help nobody: a request of 1 MB can hold hundreds of thousands of mistakes. */
const errorsMax = 100;
/** Names of fields and what messages quote come from the request. */
const fieldLengthMax = 200;
const messageLengthMax = 500;

/** The answer to a query or body with these mistakes; the first 100 are listed, long texts cut. */
export function invalid(all: readonly FieldError[]): Refusal {
  const errors = all.slice(0, errorsMax).map(({ field, code, message }) => ({
    field: clipText(field, fieldLengthMax),
    code,
    message: clipText(message, messageLengthMax),
  }));
  const lines = errors.map(({ field, message }) =>
    field === "" ? message : `${field}: ${message}`,
  );
  return new Refusal("unprocessable", "request.invalid", lines.join(" "), { errors });
}

/** Refuses one field for a reason of its own. */
export function fieldRefusal(field: string, code: string, message: string): Refusal {
  return new Refusal("unprocessable", code, message, { errors: [{ field, code, message }] });
}

/**
 * An address that the service will send requests to. Its name is resolved, and checked again, by each of them.
 *
 * @param field that it was sent in
 * @throws Refusal 422
 */
export function checkedUrl(
  { checkUrl }: Readonly<{ checkUrl: (url: string) => URL }>,
  field: string,
  text: string,
): URL {
  try {
    return checkUrl(text);
  } catch (error) {
    if (!(error instanceof OutboundRefused)) throw error;
    throw invalid([{ field, code: error.code, message: error.message }]);
  }
}

const isBlank = (input: unknown): boolean => typeof input === "string" && input.trim() === "";

type Issue = z.core.$ZodIssue;

function fieldError(issue: Issue): FieldError {
  const message = `${issue.message.replace(/\.$/, "")}.`;
  return { field: issue.path.join("."), code: codeOf(issue), message };
}

/** A missing, null or blank text is what clients know as `error.field.empty`. */
function codeOf(issue: Issue): string {
  const { input } = issue;
  switch (issue.code) {
    case "invalid_type":
      if (input !== undefined && input !== null) return "error.field.type";
      return issue.expected === "string" ? "error.field.empty" : "error.field.required";
    case "too_small":
      if (isBlank(input)) return "error.field.empty";
      return issue.origin === "string" ? "error.field.too_short" : "error.field.too_small";
    case "too_big":
      return issue.origin === "string" ? "error.field.too_long" : "error.field.too_large";
    case "invalid_format":
      return input === "" ? "error.field.empty" : "error.field.format";
    case "invalid_value":
      return input === undefined || input === "" ? "error.field.empty" : "error.field.value";
    case "custom":
      if (typeof issue.params?.["code"] === "string") return issue.params["code"];
      return isBlank(input) ? "error.field.empty" : "error.field.invalid";
    default:
      return "error.field.invalid";
  }
}

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
function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
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
    case "invalid_union":
      return isMissing ? "It is missing." : undefined;
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
