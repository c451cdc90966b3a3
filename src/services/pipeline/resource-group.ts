import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { underLock } from "../../platform/postgres/lock.ts";
import { groupIsBusy, nextInGroup } from "../../projections/pipeline/resource-group.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import { type AdvanceDeps, type Cause, orderJob } from "./order-job.ts";
import { type TurnOrder, turnOrder } from "./queue-job.ts";

/**
 * Queues a job unless another one of its resource group in the project is queued or runs; it waits
 * then. A lock of the database keeps two processes from queuing two jobs at one moment, and is held
 * until the read model shows the queued one.
 */
export async function queueInGroup(
  deps: AdvanceDeps,
  row: JobRow,
  queue: Extract<TurnOrder["order"], { type: "QueueJob" }>,
  cause: Cause,
): Promise<Readonly<{ status: PipelineStatus; position: bigint | undefined }>> {
  const key = `resource group ${row.project_id} ${row.resource_group}`;
  return underLock(deps.db, key, async (tx) => {
    const isBusy = await groupIsBusy(tx, row);
    const order = isBusy ? ({ type: "BlockJob", reason: "RESOURCE_GROUP" } as const) : queue;
    const position = await orderJob(deps, row, order, cause);
    await deps.visible(position);
    return { status: isBusy ? "WAITING_FOR_RESOURCE" : "PENDING", position };
  });
}

/** Queues the longest waiting job of a group that a job has left. */
export async function freeGroup(
  deps: AdvanceDeps,
  finished: Pick<JobRow, "project_id" | "resource_group">,
  cause: Cause,
): Promise<void> {
  if (finished.resource_group === null) return;
  const next = await nextInGroup(deps.db, finished.project_id, finished.resource_group);
  if (next === undefined) return;
  const { order } = await turnOrder(deps, next);
  if (order.type === "QueueJob") await queueInGroup(deps, next, order, cause);
  // The end of a job that may not run frees the group again.
  else await orderJob(deps, next, order, cause);
}
