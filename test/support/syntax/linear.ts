import { createRequire } from "node:module";

import { partsOfLiteral } from "./constant-text.ts";

/** For a machine that does nothing else most take less than one; those of many long words take some seconds. */
const timeoutMs = 120_000;
/** A larger count of repetitions would make the automaton that is analysed too large. */
const countMax = 8;

/**
 * What is wrong with a regular expression, `/source/flags`: undefined where the time that it takes grows no faster
 * than the text. The detector is exact, but it knows neither look-arounds nor references back.
 */
export async function superLinear(pattern: string): Promise<string | undefined> {
  const { source, flags } = partsOfLiteral(pattern);
  const { check } = await detector();
  for (const form of new Set([withCounts(source, "few"), withCounts(source, "any")])) {
    const found = await check(form, flags, { checker: "automaton", timeout: timeoutMs });
    if (found.status === "unknown") return `cannot be analysed: ${found.error.kind}`;
    if (found.status === "vulnerable") {
      return `takes ${found.complexity.summary} time for ${found.attack.pattern}`;
    }
  }
  return undefined;
}

/**
 * The expression with every large count of repetitions, as `{0,63}`, made small or unlimited: where both are linear, so
 * is what lies between them.
 */
export function withCounts(source: string, counts: "few" | "any"): string {
  const token = /\\.|\[(?:[^\]\\]|\\.)*\]|\{(\d+)(?:,(\d*))?\}|[^\\[{]+|[[{]/gsu;
  return source.replace(token, (text, from: string | undefined, to: string | undefined) => {
    if (from === undefined) return text;
    const least = Number(from);
    const most = to === undefined ? least : to === "" ? Number.POSITIVE_INFINITY : Number(to);
    if (most <= countMax || (to === "" && least <= countMax)) return text;
    if (counts === "any") return least === 0 ? "*" : "+";
    return to === "" ? "{3,}" : `{${Math.min(least, 3)},3}`;
  });
}

/** Its program where the package has one for this machine, otherwise the same in JavaScript. It needs no Java. */
async function detector(): Promise<typeof import("recheck")> {
  const os = { darwin: "macos", win32: "windows" }[process.platform as string] ?? process.platform;
  const program = `recheck-${os}-${process.arch}/package.json`;
  process.env["RECHECK_BACKEND"] ??= isInstalled(program) ? "native" : "pure";
  return await import("recheck");
}

function isInstalled(file: string): boolean {
  try {
    createRequire(import.meta.url).resolve(file);
    return true;
  } catch {
    return false;
  }
}
