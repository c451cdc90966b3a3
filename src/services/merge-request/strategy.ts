import type { MergeSettings, MergeStrategy } from "../../events/merge-request/merge-setting.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";

/** How a caller wants a request to be merged; both are left out where they did not say. */
export type StrategyWish = Readonly<{
  mergeStrategy?: MergeStrategy | null | undefined;
  squashCommit?: boolean | null | undefined;
}>;

/** @throws Refusal 422 for a strategy or a squash that the project does not allow */
export function strategyOf(
  { mergeStrategy, squashCommit }: StrategyWish,
  row: Pick<MergeRequestRow, "squash_commit">,
  { mergeStrategy: usual, allowedStrategies, squash }: MergeSettings,
): MergeStrategy {
  const wantsSquash = squashCommit ?? (mergeStrategy ? mergeStrategy === "SQUASH" : undefined);
  if (squash === "ALWAYS") {
    if (wantsSquash !== false) return "SQUASH";
    const message = "The project squashes every request.";
    throw notAllowed("squashCommit", "merge.squash_required", message);
  }
  if (squash === "NEVER" && wantsSquash === true) {
    const message = "The project allows no squashing.";
    throw notAllowed("squashCommit", "merge.squash_not_allowed", message);
  }
  const squashes = wantsSquash ?? (row.squash_commit && squash === "ALLOWED");
  const strategy = squashes ? "SQUASH" : (mergeStrategy ?? usual);
  if (squashes || allowedStrategies.includes(strategy)) return strategy;
  const message = `The project does not allow the strategy ${strategy}.`;
  throw notAllowed("mergeStrategy", "merge.strategy_not_allowed", message);
}

/** The strategy of a merge whose caller says nothing of it; the refusal where the project allows none. */
export function usualStrategy(
  row: Pick<MergeRequestRow, "squash_commit">,
  settings: MergeSettings,
): MergeStrategy | Refusal {
  try {
    return strategyOf({}, row, settings);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function notAllowed(field: string, code: string, message: string): Refusal {
  return new Refusal("unprocessable", code, message, { errors: [{ field, code, message }] });
}
