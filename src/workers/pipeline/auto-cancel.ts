import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { hasBegunForGood, olderPipelines } from "../../projections/pipeline/push.ts";
import { findPipelineById } from "../../projections/pipeline/query.ts";
import type { AdvanceDeps, Cause } from "./advance.ts";
import { cancelInterruptible, cancelPipeline, unlessEnded } from "./lifecycle.ts";

/**
 * Cancels older pipelines of the branch that a new one makes redundant: whole pipelines in which no
 * job has started that may not be interrupted, or only their interruptible jobs where the file sets that.
 */
export async function cancelSuperfluous(
  deps: AdvanceDeps,
  pipelineId: string,
  cause: Cause,
): Promise<void> {
  const newer = await findPipelineById(deps.db, pipelineId);
  if (newer === undefined) return;
  for (const older of await olderPipelines(deps.db, newer)) {
    const commandId = deterministicId(cause.id, "superfluous", older.id);
    const metadata = bySystem({ commandId, ...cause }, deps.now().toISOString());
    const initiator = { by: null, metadata };
    await unlessEnded(async () => {
      if (older.auto_cancel === "interruptible") {
        await cancelInterruptible(deps, older, initiator);
      } else if (!(await hasBegunForGood(deps.db, older.id))) {
        await cancelPipeline(deps, older, initiator);
      }
    });
  }
}
