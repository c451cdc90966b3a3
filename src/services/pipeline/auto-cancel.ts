import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { hasBegunForGood, hasOlderOf, olderPipelines } from "../../projections/pipeline/push.ts";
import { findPipelineById } from "../../projections/pipeline/query.ts";
import type { PipelineRow } from "../../projections/pipeline/table.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { cancelInterruptible, cancelPipeline, unlessEnded } from "./lifecycle.ts";
import type { AdvanceDeps, Cause } from "./order-job.ts";

/**
 * Cancels pipelines of the branch that a newer one makes redundant: whole pipelines in which no
 * job has started that may not be interrupted, or only their interruptible jobs where the file sets that.
 *
 * @param pipelineId of the one that was created last; of pushes, it may be of an older one than those before it
 */
export async function cancelSuperfluous(
  deps: AdvanceDeps,
  pipelineId: string,
  cause: Cause,
): Promise<void> {
  const newer = await findPipelineById(deps.db, pipelineId);
  if (newer === undefined) return;
  for (const older of await superfluous(deps, newer)) {
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

/** A file that takes long to read, or a queue that is full, lets the pipeline of a later push come first. */
async function superfluous(
  { db }: AdvanceDeps,
  created: PipelineRow,
): Promise<readonly PipelineRow[]> {
  const older = await olderPipelines(db, created);
  const tip = created.source === "PUSH" ? await tipOf(db, created) : undefined;
  if (tip === undefined || tip === created.commit_id) return older;
  const others = older.filter(({ commit_id }) => commit_id !== tip);
  const isOutdated = created.auto_cancel !== "none" && (await hasOlderOf(db, created, tip));
  return isOutdated ? [...others, created] : others;
}

/** Undefined when the branch is gone. */
async function tipOf(
  db: AdvanceDeps["db"],
  { project_id, ref }: PipelineRow,
): Promise<string | undefined> {
  return (await findRef(db, project_id, "branch", ref))?.object_id;
}
