import { Refusal, type RefusalKind } from "../../../platform/refusal.ts";
import type { PageAnswer } from "./route.ts";

/**
 * The answer of `run`. A refusal of one of the kinds is something that the person can correct, so the
 * page that `show` makes gives its message; every other error is thrown.
 */
export async function showingRefusals(
  kinds: readonly RefusalKind[],
  run: () => Promise<PageAnswer>,
  show: (message: string) => PageAnswer | Promise<PageAnswer>,
): Promise<PageAnswer> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Refusal) || !kinds.includes(error.kind)) throw error;
    return await show(error.message);
  }
}
