import { handle } from "../../commands/core/handle.ts";
import { pipeline } from "../../commands/pipeline/pipeline.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { expiredPipelines } from "../../projections/pipeline/lifetime.ts";
import { overduePipelines, unnumberedPipelines } from "../../projections/pipeline/query.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { advanceQueue } from "../../services/pipeline/advance.ts";
import { numberPipeline } from "../../services/pipeline/create.ts";

const deletedAtOnce = 500;
const numberedAtOnce = 100;
/** Younger ones are still being created. */
const unnumberedAfterMs = 60_000;
const overdueAtOnce = 500;
const overdueAfterMs = 30_000;

/** Deletes pipelines whose lifetime is over; what is left is deleted in the next round. */
export async function sweepExpiredPipelines({ db, store, now }: WorkerDeps): Promise<void> {
  for (const row of await expiredPipelines(db, now(), deletedAtOnce)) {
    const at = now().toISOString();
    const ids = { pipelineId: row.id, projectId: row.project_id, at };
    const command = { type: "DeletePipeline", ...ids, by: null, status: row.status } as const;
    const commandId = deterministicId("expired pipeline", row.id);
    await handle(store, pipeline, { id: row.id, command, metadata: bySystem({ commandId }, at) });
  }
}

/** Numbers pipelines whose process did not live to do it; they are listed from then on. */
export async function sweepUnnumberedPipelines(deps: WorkerDeps): Promise<void> {
  const before = new Date(deps.now().getTime() - unnumberedAfterMs);
  for (const { id, project_id: projectId, jobIds } of await unnumberedPipelines(
    deps.db,
    before,
    numberedAtOnce,
  )) {
    const commandId = deterministicId("number pipeline", id);
    const metadata = bySystem({ commandId }, deps.now().toISOString());
    // The whole sequence is looked through: where the pipeline stands in the log is not known here.
    await numberPipeline(deps, {
      pipelineId: id,
      projectId,
      jobIds,
      createdPosition: 0n,
      metadata,
    });
  }
}

/** Moves pipelines on whose timer was lost. */
export async function sweepOverdueJobs({ db, queues, now }: WorkerDeps): Promise<void> {
  const before = new Date(now().getTime() - overdueAfterMs);
  const minute = Math.floor(now().getTime() / 60_000);
  const ids = await overduePipelines(db, before, overdueAtOnce);
  await queues.add(
    ids.map((pipelineId) => {
      const id = `${pipelineId}-overdue-${minute}`;
      const data = { pipelineId, causeId: id, position: null };
      return { queue: advanceQueue, id, data };
    }),
  );
}
