import { Refusal } from "../platform/refusal.ts";
import { GitFailure } from "./failure.ts";

/** Which limit ended a merge. */
export type MergeLimit = "time" | "memory";

const ofMemory = /out of memory|memory limit|mmap failed/i;
/** Of the machine: the same merge may succeed later. */
const ofMachine =
  /no space left|quota exceeded|too many open files|cannot allocate|input\/output error|read-only file system|temporarily unavailable|unable to (?:create|write)/i;
/** Of what the repository holds: another attempt ends the same. */
const ofObjects =
  /\b(?:corrupt|broken|bad (?:object|tree)|missing|not a valid|unable to (?:read|find|parse)|could not (?:read|parse)|failed to read)/i;

/** Undefined: it was ended by no limit. */
export function limitOf(error: unknown): MergeLimit | undefined {
  if (!(error instanceof GitFailure)) return undefined;
  if (error.timedOut) return "time";
  return ofMemory.test(error.stderr) ? "memory" : undefined;
}

/** Git cannot read what is to be merged, whenever it is tried. */
export const isFinalFailure = (error: unknown): error is GitFailure =>
  error instanceof GitFailure &&
  error.exitCode !== null &&
  !ofMachine.test(error.stderr) &&
  ofObjects.test(error.stderr);

/** The error for a failed merge: a refusal that allows a retry, unless the failure is final. */
export function mergeFailure(error: unknown): unknown {
  if (isFinalFailure(error) || !isPassing(error)) return error;
  const message = "Git could not merge at this moment. Try again later.";
  return new Refusal("unavailable", "merge.unavailable", message, { retryAfterSeconds: 10 });
}

const machineCodes = new Set(["ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "ENOMEM", "EIO", "EAGAIN"]);

const isPassing = (error: unknown): boolean =>
  error instanceof GitFailure ||
  (error instanceof Error && "code" in error && machineCodes.has(String(error.code)));

export function tooComplex(limit: string): Refusal {
  const message = `The merge takes more than ${limit}. Merge in a clone and push.`;
  return new Refusal("unprocessable", "merge.too_complex", message);
}
