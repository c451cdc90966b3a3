import { handle } from "../../commands/core/handle.ts";
import { type JobCommand, job } from "../../commands/pipeline/job.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import type { WorkerDeps } from "../core/deps.ts";
import type { VariableDeps } from "./job-run.ts";

export type AdvanceDeps = VariableDeps & Pick<WorkerDeps, "store" | "visible" | "now" | "queues">;

/** Names what a pipeline goes on after: the steps of one cause are written once. */
export type Cause = Readonly<{ id: string; correlationId: string }>;

type Unplaced<Command> = Command extends unknown
  ? Omit<Command, "jobId" | "pipelineId" | "projectId" | "at">
  : never;

/** Gives an order to a job on behalf of the service. */
export async function orderJob(
  { store, now }: Pick<AdvanceDeps, "store" | "now">,
  row: JobRow,
  order: Unplaced<JobCommand>,
  cause: Cause,
): Promise<bigint | undefined> {
  const { id: jobId, pipeline_id: pipelineId, project_id: projectId, attempt } = row;
  const at = now().toISOString();
  // Each member of the union lost these fields, and gets them back.
  const command = { ...order, jobId, pipelineId, projectId, at } as JobCommand;
  const commandId = deterministicId(cause.id, jobId, order.type, attempt);
  const metadata = bySystem({ commandId, ...cause }, at);
  return (await handle(store, job, { id: jobId, command, metadata })).position;
}
