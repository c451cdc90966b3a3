import { RE2JS, RE2JSException } from "re2js";

import { BoundedCache } from "./bounded-cache.ts";

/** Compiled patterns; compiling takes much longer than matching. */
const compiled = new BoundedCache<RE2JS | "malformed">(4 * 1024 ** 2);

/**
 * Compiles an expression that a user wrote. The engine is a port of RE2: it takes time in proportion to pattern and
 * text, whatever they are; see docs/adr/0068-pipeline-file.md.
 *
 * @param source RE2 syntax
 * @returns null when it is malformed
 */
export function linearPattern(source: string): RE2JS | null {
  const known = compiled.get(source) ?? compile(source) ?? "malformed";
  compiled.set(source, known, 1_000 + source.length * 50);
  return known === "malformed" ? null : known;
}

function compile(source: string): RE2JS | null {
  try {
    return RE2JS.compile(source);
  } catch (error) {
    if (error instanceof RE2JSException) return null;
    throw error;
  }
}
