import { deterministicId } from "../../platform/deterministic-id.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import type { WorkerDeps } from "../core/deps.ts";
import { giveOrder, type JobOrder } from "../core/job-order.ts";
import type { VariableDeps } from "./job-run.ts";

export type AdvanceDeps = VariableDeps & Pick<WorkerDeps, "store" | "visible" | "now" | "queues">;

/** Names what a pipeline goes on after: the steps of one cause are written once. */
export type Cause = Readonly<{ id: string; correlationId: string }>;

/** Gives an order to a job on behalf of the service. */
export async function orderJob(
  deps: Pick<AdvanceDeps, "store" | "now">,
  row: JobRow,
  order: JobOrder,
  cause: Cause,
): Promise<bigint | undefined> {
  const commandId = deterministicId(cause.id, row.id, order.type, row.attempt);
  return giveOrder(deps, row, order, { commandId, ...cause });
}
