import { z } from "zod";

import { parseDuration } from "./duration.ts";

/** Fields that occur in several keywords, with messages for people who write pipeline files. */

export const text = (most = 8_192) =>
  z
    .string({ error: "It must be text." })
    .max(most, { error: `It is longer than ${most} characters.` });

export const name = (most = 255) => text(most).min(1, { error: "It is empty." });

/** As GitLab, numbers and booleans become their text. */
export const scalarText = z
  .union([z.string(), z.number(), z.boolean(), z.null()], { error: "It must be text or a number." })
  .transform((value) => (value === null ? "" : String(value)))
  .pipe(text(64 * 1024));

export const flag = z.boolean({ error: "It must be true or false." });

export const count = (least: number, most: number) =>
  z
    .int({ error: `It must be a number from ${least} to ${most}.` })
    .min(least, { error: `It must be at least ${least}.` })
    .max(most, { error: `It must be at most ${most}.` });

/** One of something or a list of it. */
export function oneOrMany<Schema extends z.ZodType>(schema: Schema, most: number) {
  return z
    .preprocess(
      (value) => (Array.isArray(value) ? value : [value]),
      z.array(schema).max(most, { error: `There are more than ${most} entries.` }),
    )
    .transform((list): readonly z.output<Schema>[] => list);
}

export const names = (most: number) => oneOrMany(name(1_024), most);

const lineLengthMax = 64 * 1024;
const linesMax = 10_000;
const nestingMax = 10;

/** Lines of a shell script: a text, or a list of texts and lists. */
export const script = z.unknown().transform((value, context): string[] => {
  const lines: string[] = [];
  const problem = addLines(value, lines, 0);
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  return lines;
});

function addLines(value: unknown, lines: string[], depth: number): string | undefined {
  if (Array.isArray(value)) {
    if (depth >= nestingMax) return `Lists are nested deeper than ${nestingMax} levels.`;
    for (const entry of value) {
      const problem = addLines(entry, lines, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  if (typeof value !== "string") return "It must be text or a list of texts.";
  if (value.length > lineLengthMax) return `A line is longer than ${lineLengthMax} characters.`;
  if (lines.length >= linesMax) return `There are more than ${linesMax} lines.`;
  lines.push(value);
  return undefined;
}

/** Seconds. */
export const duration = z
  .union([z.string(), z.number()], { error: "It must be a duration such as 1h 30m." })
  .transform((value, context) => {
    const seconds = parseDuration(String(value));
    if (seconds !== undefined) return seconds;
    context.addIssue({ code: "custom", message: "It must be a duration such as 1h 30m." });
    return z.NEVER;
  });

/** How long a delayed job waits. */
export const StartIn = duration.pipe(
  z.int().max(7 * 86_400, { error: "It must be a week at most." }),
);

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;
const variablesMax = 1_000;

export type FileVariables = ReadonlyMap<string, Readonly<{ value: string; raw: boolean }>>;

const Variable = z.union(
  [
    scalarText.transform((value) => ({ value, raw: false, isNoOption: false })),
    z
      .strictObject({
        value: scalarText.optional(),
        description: z.string().optional(),
        expand: flag.default(true),
        options: z.array(scalarText).optional(),
      })
      .transform(({ value, expand, options }) => ({
        ...{ value: value ?? "", raw: !expand },
        isNoOption: options !== undefined && (value === undefined || !options.includes(value)),
      })),
  ],
  { error: "It must be text, a number or {value: …, expand: …}." },
);

export const variables = z
  .record(z.string(), Variable, { error: "It must be a map of variables." })
  .transform((record, context): FileVariables => {
    const entries = Object.entries(record);
    const bad = entries.find(([key]) => !variableName.test(key));
    if (bad !== undefined) {
      const message = `${bad[0]} is no name of a variable: use letters, digits and underscores.`;
      context.addIssue({ code: "custom", message, path: [bad[0]] });
    }
    if (entries.length > variablesMax) {
      context.addIssue({ code: "custom", message: `There are more than ${variablesMax}.` });
    }
    for (const [key, { isNoOption }] of entries) {
      const issue = { message: "The value must be one of the options.", path: [key] };
      if (isNoOption) context.addIssue({ code: "custom", ...issue });
    }
    return new Map(entries.map(([key, { value, raw }]) => [key, { value, raw }]));
  });
