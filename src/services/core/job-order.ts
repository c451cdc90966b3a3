import { handle } from "../../commands/core/handle.ts";
import { type JobCommand, job } from "../../commands/pipeline/job.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import type { WorkerDeps } from "./deps.ts";

type Unplaced<Command> = Command extends unknown
  ? Omit<Command, "jobId" | "pipelineId" | "projectId" | "at">
  : never;
/** A command to a job without what its row and the clock say. */
export type JobOrder = Unplaced<JobCommand>;

type OrderDeps = Pick<WorkerDeps, "store" | "now">;

/**
 * An order by a sweep: the run may have ended in the meantime, and then nothing is to be done.
 *
 * @param step names it together with the type of the order, so that doing it again writes nothing
 */
export async function orderIfOpen(
  deps: OrderDeps,
  row: JobRow,
  order: JobOrder,
  step: readonly (string | number)[],
): Promise<void> {
  try {
    await giveOrder(deps, row, order, { commandId: deterministicId(...step, order.type) });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}

/** An order of the service itself. */
export async function giveOrder(
  { store, now }: OrderDeps,
  { id: jobId, pipeline_id: pipelineId, project_id: projectId }: JobRow,
  order: JobOrder,
  step: Parameters<typeof bySystem>[0],
): Promise<bigint | undefined> {
  const at = now().toISOString();
  // Each member of the union lost these fields, and gets them back.
  const command = { ...order, jobId, pipelineId, projectId, at } as JobCommand;
  const metadata = bySystem(step, at);
  return (await handle(store, job, { id: jobId, command, metadata })).position;
}
