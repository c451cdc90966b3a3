import { Refusal } from "../../platform/refusal.ts";
import type { MergeRequestStatus } from "../../projections/merge-request/merge-request-row.ts";
import { inConflict } from "./rebase.ts";
import { type Reason, type RequirementName, type Requirements, unmetOf } from "./requirement.ts";

/** One thing that a merge would be refused for. */
export type MergeError = Readonly<{
  /** Undefined where it is no requirement that is not met. */
  field?: RequirementName;
  code: string;
  message: string;
  rule?: string;
}>;

/** What was found out about a merge by a strategy. */
export type Findings = Readonly<{
  requirements: Requirements;
  reasons: readonly Reason[];
  conflicts: readonly string[];
  conflictsCount: number;
  /** Paths of the request that others have locked. */
  lockConflicts: readonly string[];
  /** Why the strategy cannot merge the two heads, beside a conflict of both. */
  obstacle: Refusal | undefined;
}>;

/** Code of a reason that makes the request FAILED when it is merged. */
export const mergeFailed = "merge.failed";
const mergeUnavailable = "merge.unavailable";

/** Everything that `refusalOf` refuses a merge for; none where it refuses nothing. */
export function mergeErrorsOf(findings: Findings): readonly MergeError[] {
  const { requirements, lockConflicts, obstacle } = findings;
  const others = [obstacle, lockConflicts.length > 0 ? lockedBy(lockConflicts) : undefined];
  return [
    ...unmetOf(requirements).flatMap((name) => reasonsFor(findings, name)),
    ...others.flatMap((why) => (why === undefined ? [] : [plainError(why)])),
  ];
}

export const plainError = ({ code, message }: Refusal): MergeError => ({ code, message });

function reasonsFor(findings: Findings, field: RequirementName): readonly MergeError[] {
  const reasons = findings.reasons.filter((reason) => reason.field === field);
  if (reasons.length > 0) return reasons;
  if (field === "NO_CONFLICTS") return [{ ...plainError(inConflict(findings)), field }];
  return [{ field, code: "merge.requirement", message: `The requirement ${field} is not met.` }];
}

/**
 * What a merge is refused with: 403 without the right, 503 when git had trouble that may pass, 409 for a conflict, locks
 * or a branch that is behind, 422 for anything else.
 */
export function refusalOf(findings: Findings): Refusal | undefined {
  const { requirements, reasons, lockConflicts, obstacle } = findings;
  const unmet = unmetOf(requirements);
  if (!requirements.RIGHTS_TO_MERGE) return withoutRight();
  const passing = reasons.find(({ code }) => code === mergeUnavailable);
  if (passing !== undefined) {
    return new Refusal("unavailable", passing.code, passing.message, { retryAfterSeconds: 10 });
  }
  const isConflict = findings.conflictsCount > 0 && unmet.length === 1;
  if (isConflict && unmet[0] === "NO_CONFLICTS") return inConflict(findings);
  if (unmet.length > 0) return requirementsUnmet(findings, unmet);
  return lockConflicts.length > 0 ? lockedBy(lockConflicts) : obstacle;
}

/** Why git cannot read the branches, where that alone is in the way: trying again ends the same. */
export function failureIn({ requirements, reasons }: Findings): string | undefined {
  if (unmetOf(requirements).length !== 1) return undefined;
  return reasons.find(({ code }) => code === mergeFailed)?.message;
}

/** Why a request that is not open is not merged. */
export function notOpen(status: MergeRequestStatus): Refusal | undefined {
  if (status === "OPENED") return undefined;
  const code = status === "CLOSED" ? "merge_request.closed" : "merge_request.final";
  return new Refusal("unprocessable", code, `The merge request is ${status.toLowerCase()}.`);
}

function withoutRight(): Refusal {
  const role = "DEVELOPER";
  const message = `This needs the role ${role} in the project.`;
  return new Refusal("forbidden", "auth.role_missing", message, { extra: { role } });
}

function lockedBy(files: readonly string[]): Refusal {
  const message = `Others have locked ${files.join(", ")}.`;
  return new Refusal("conflict", "lfs_lock.of_others", message, { extra: { files } });
}

function requirementsUnmet(findings: Findings, unmet: readonly RequirementName[]): Refusal {
  const { conflicts: files, conflictsCount: filesCount } = findings;
  const errors = mergeErrorsOf(findings).map((error) => ({ field: "", ...error }));
  const why = findings.reasons.filter(({ field }) => unmet.includes(field));
  const message = [`Not met: ${unmet.join(", ")}.`, ...why.map((reason) => reason.message)];
  const extra = filesCount > 0 ? { files, filesCount } : {};
  return new Refusal("unprocessable", "merge.requirements", message.join(" "), { errors, extra });
}
