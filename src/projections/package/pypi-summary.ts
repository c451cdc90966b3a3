import { createHash } from "node:crypto";
import { z } from "zod";

/** Of a file, as its metadata was stored. */
export const PypiMetadata = z
  .object({
    requiresPython: z.string().nullable().catch(null),
    text: z.string().nullable().catch(null),
  })
  .catch({ requiresPython: null, text: null });

/** What lists of files show of the metadata: the hash in the place of the text. */
export const PypiSummary = z.object({
  requiresPython: z.string().nullable(),
  textSha256: z.string().nullable(),
});
export type PypiSummary = Readonly<z.output<typeof PypiSummary>>;

/** A longer one is no list of versions, and lists would be as long as all of them together. */
const requiresPythonLengthMax = 1_000;

/** @param metadata of a file, JSON */
export function pypiSummary(metadata: string): PypiSummary {
  const { requiresPython, text } = PypiMetadata.parse(JSON.parse(metadata));
  const isLong = requiresPython !== null && requiresPython.length > requiresPythonLengthMax;
  return {
    requiresPython: isLong ? null : requiresPython,
    textSha256: text === null ? null : createHash("sha256").update(text).digest("hex"),
  };
}
