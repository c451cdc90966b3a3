import type { z } from "zod";

import { badFile } from "./coordinates.ts";

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
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.join(".") || "all of it");
  throw badFile(`Its ${name} lacks or misspells: ${fields.join(", ")}.`);
}
