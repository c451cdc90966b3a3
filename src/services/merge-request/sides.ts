import type { MergeStrategy } from "../../events/merge-request/merge-setting.ts";
import { checkMerge, type KeptMerges } from "../../git/merge-commits.ts";
import { isFinalFailure, mergeFailure } from "../../git/merge-failure.ts";
import type { Repository } from "../../git/repository.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { type Comparison, compareHeads } from "./compare.ts";
import { obstacleOf } from "./make-merge.ts";
import { mergeFailed } from "./merge-refusal.ts";
import type { Reason } from "./requirement.ts";

/** The two heads of a request, beside one another. */
export type Sides = Readonly<{
  head: string;
  comparison: Comparison | undefined;
  /** Paths that both sides changed in different ways: the first of them, and how many there are. */
  conflicts: readonly string[];
  conflictsCount: number;
  /** Why it is not known whether they merge. */
  reasons: readonly Reason[];
  /** Why the strategy cannot merge them all the same. */
  obstacle: Refusal | undefined;
}>;

export const noConflicts = { conflicts: [], conflictsCount: 0 } as const;

/** @param strategy a refusal where the project allows none */
export type SidesQuestion = Pick<MergeRequestRow, "source_commit" | "target_branch"> &
  Readonly<{
    targetHead: string | undefined;
    strategy: MergeStrategy | Refusal;
  }>;

/** Without a target branch there is nothing to compare with; nor beyond the limits of a merge. */
export async function sidesOf(
  repository: Repository,
  kept: KeptMerges,
  { targetHead, source_commit: theirs, target_branch: branch, strategy }: SidesQuestion,
): Promise<Sides> {
  const unknown = (code: string, message: string): Sides => {
    const reasons = [{ field: "NO_CONFLICTS", code, message } as const];
    const nothing = { comparison: undefined, ...noConflicts, obstacle: undefined };
    return { head: targetHead ?? "", ...nothing, reasons };
  };
  if (targetHead === undefined) {
    return unknown("branch.not_found", `The target branch ${branch} does not exist.`);
  }
  try {
    const comparison = await compareHeads(repository, targetHead, theirs);
    const merged = await checkMerge(repository, { ours: targetHead, theirs }, kept);
    const conflicts = merged.conflicts === undefined ? noConflicts : merged;
    const { baseId } = comparison;
    const obstacle =
      strategy instanceof Refusal
        ? strategy
        : await obstacleOf({
            ...{ repository, strategy, targetHead, sourceCommit: theirs, baseId },
            treeId: merged.conflicts === undefined ? merged.treeId : undefined,
          });
    return { head: targetHead, comparison, ...conflicts, reasons: [], obstacle };
  } catch (error) {
    const failure = mergeFailure(error);
    if (failure instanceof Refusal) return unknown(failure.code, failure.message);
    if (isFinalFailure(failure)) return unknown(mergeFailed, failure.message);
    throw failure;
  }
}
