import type { z } from "zod";

import { badFile } from "./coordinates.ts";

/** Deeper ones cannot be written again by everything that shows them. */
const depthMax = 64;

/** Reads the JSON of a manifest within an archive. @throws Refusal 422 that says what is wrong */
export function parseManifest<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  name: string,
): z.output<Schema> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw badFile(`Its ${name} is not JSON.`);
  }
  if (isDeeper(json, depthMax)) throw badFile(`Its ${name} nests deeper than ${depthMax} levels.`);
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.join(".") || "all of it");
  throw badFile(`Its ${name} lacks or misspells: ${fields.join(", ")}.`);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}
