import { parseDuration } from "../pipeline-file/duration.ts";

type Values = ReadonlyMap<string, string>;

const attemptsMax = 10;

/** Such as `GET_SOURCES_ATTEMPTS`: 1 to 10. */
export function attemptsOf(values: Values, name: string): number {
  const attempts = Math.trunc(Number(values.get(name) ?? 1));
  return Math.min(attemptsMax, Math.max(1, attempts || 1));
}

/** @returns undefined for the default: the variable is missing, malformed or 0 */
export function timeoutMsOf(values: Values, name: string): number | undefined {
  const seconds = parseDuration(values.get(name) ?? "");
  return seconds === undefined || seconds === 0 ? undefined : seconds * 1_000;
}

/** As Go's ParseBool reads a boolean; anything else is false. */
export const isTrue = (value = ""): boolean => /^(?:1|t|true)$/i.test(value);
/** Anything that is not false is true. */
export const isFalse = (value = ""): boolean => /^(?:0|f|false)$/i.test(value);

/** Words of flags or paths, without quoting, as gitlab-runner reads them. `none` means no flags. */
export function flagsOf(values: Values, name: string): readonly string[] | undefined {
  const text = values.get(name)?.trim() ?? "";
  if (text === "") return undefined;
  return text === "none" ? [] : text.split(/\s+/);
}
