import { handle } from "../../commands/core/handle.ts";
import { type JobCommand, job } from "../../commands/pipeline/job.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import type { WorkerDeps } from "../core/deps.ts";
import type { VariableDeps } from "./job-run.ts";

export type AdvanceDeps = VariableDeps & Pick<WorkerDeps, "store" | "visible" | "now" | "queues">;

/** Names what a pipeline goes on after: the steps of one cause are written once. */
export type Cause = Readonly<{ id: string; correlationId: string }>;

type Unplaced<Command> = Command extends unknown
  ? Omit<Command, "jobId" | "pipelineId" | "projectId" | "at">
  : never;
type Order = Unplaced<JobCommand>;
type OrderDeps = Pick<AdvanceDeps, "store" | "now">;

/** Gives an order to a job on behalf of the service. */
export async function orderJob(
  deps: OrderDeps,
  row: JobRow,
  order: Order,
  cause: Cause,
): Promise<bigint | undefined> {
  const commandId = deterministicId(cause.id, row.id, order.type, row.attempt);
  return give(deps, row, order, { commandId, ...cause });
}

/**
 * The same by a sweep: the run may have ended in the meantime, and then nothing is to be done.
 *
 * @param step names it together with the type of the order, so that doing it again writes nothing
 */
export async function orderIfOpen(
  deps: OrderDeps,
  row: JobRow,
  order: Order,
  step: readonly (string | number)[],
): Promise<void> {
  try {
    await give(deps, row, order, { commandId: deterministicId(...step, order.type) });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}

async function give(
  { store, now }: OrderDeps,
  { id: jobId, pipeline_id: pipelineId, project_id: projectId }: JobRow,
  order: Order,
  step: Parameters<typeof bySystem>[0],
): Promise<bigint | undefined> {
  const at = now().toISOString();
  // Each member of the union lost these fields, and gets them back.
  const command = { ...order, jobId, pipelineId, projectId, at } as JobCommand;
  const metadata = bySystem(step, at);
  return (await handle(store, job, { id: jobId, command, metadata })).position;
}
