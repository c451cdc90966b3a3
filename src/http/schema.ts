import { z } from "zod";

import { type FieldError, Refusal } from "../platform/refusal.ts";

/** A boolean; quoted ("true") as some clients send it. */
export function bool() {
  return z.preprocess(
    (value) => (value === "true" ? true : value === "false" ? false : value),
    z.boolean(),
  );
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
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return { ok: true, data: result.data };
  return { ok: false, errors: result.error.issues.map(fieldError) };
}

/** The answer to a query or body with these mistakes. */
export function invalid(errors: readonly FieldError[]): Refusal {
  const lines = errors.map(({ field, message }) =>
    field === "" ? message : `${field}: ${message}`,
  );
  return new Refusal("unprocessable", "request.invalid", lines.join(" "), { errors });
}

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
      if (typeof input === "string" && input.trim() === "") return "error.field.empty";
      return issue.origin === "string" ? "error.field.too_short" : "error.field.too_small";
    case "too_big":
      return issue.origin === "string" ? "error.field.too_long" : "error.field.too_large";
    case "invalid_format":
      return input === "" ? "error.field.empty" : "error.field.format";
    case "invalid_value":
      return input === undefined || input === "" ? "error.field.empty" : "error.field.value";
    case "custom":
      return typeof issue.params?.["code"] === "string"
        ? issue.params["code"]
        : "error.field.invalid";
    default:
      return "error.field.invalid";
  }
}
