import { type JobCount, pipelineStatus } from "../../events/pipeline/status.ts";
import type { Tx } from "../core/projection.ts";

type Counted = JobCount & Readonly<{ pipeline_id: string; started_at: Date | null }>;

/** Computes status and start of pipelines from their jobs. */
export async function refreshPipelines(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const { rows } = await tx.raw<{ rows: readonly Counted[] }>(
    `select pipeline_id, status, status = 'MANUAL' and not may_fail as required,
       count(*)::int as count, min(started_at) as started_at
     from pipeline_job where pipeline_id = any(?) group by 1, 2, 3`,
    [[...ids]],
  );
  const byPipeline = new Map<string, Counted[]>();
  for (const row of rows) {
    byPipeline.set(row.pipeline_id, [...(byPipeline.get(row.pipeline_id) ?? []), row]);
  }
  for (const [id, counts] of byPipeline) {
    const starts = counts.flatMap(({ started_at }) => started_at ?? []);
    const started_at = starts.length === 0 ? null : new Date(Math.min(...starts.map(Number)));
    const status = pipelineStatus(counts);
    await tx("pipeline").where({ id }).update({ status, started_at });
  }
}
