import { invalid } from "../schema.ts";

const nameBytesMax = 255;

/**
 * Checks the name of an uploaded file. It is shown and suggested to browsers, never part of a path on this
 * machine. The parser of forms removes directories from names; this does not rely on it.
 *
 * @throws Refusal 422 with the code
 */
export function mustBeFileName(name: string, field: string, code: string): void {
  const odd = name === "." || name === ".." || /[/\\\p{Cc}\p{Cs}]/u.test(name);
  const bytes = Buffer.byteLength(name);
  if (!odd && bytes > 0 && bytes <= nameBytesMax) return;
  throw invalid([{ field, code, message: "A file needs a plain name of at most 255 bytes." }]);
}
