import type { PipelineId } from "../../events/pipeline/id.ts";
import { type JobCount, pipelineStatus } from "../../events/pipeline/status.ts";
import type { Tx } from "../core/projection.ts";
import { Writes } from "../core/writes.ts";
import { pipelines } from "./table.ts";

type Counted = JobCount &
  Readonly<{
    pipeline_id: PipelineId;
    started_at: Date | null;
    /** What the pipeline shows by now. */
    shown_status: string;
    shown_started_at: Date | null;
  }>;

/** Computes status and start of pipelines from their jobs. Most jobs change neither: nothing is written then. */
export async function refreshPipelines(tx: Tx, ids: readonly string[]): Promise<void> {
  const [first] = ids;
  if (first === undefined) return;
  // Nearly always one, for which Postgres keeps a plan; it makes one anew for each list.
  const [are, given] = ids.length === 1 ? ["= ?", first] : ["= any(?)", [...ids]];
  const { rows: counted } = await tx.raw<{ rows: readonly Counted[] }>(
    // Counted first: then a few rows meet that of their pipeline.
    `with counted as (
       select pipeline_id, status, status = 'MANUAL' and not may_fail as required,
         count(*)::int as count, min(started_at) as started_at
       from pipeline_job where pipeline_id ${are} group by 1, 2, 3
     )
     select counted.*, pipeline.status as shown_status, pipeline.started_at as shown_started_at
     from counted join pipeline on pipeline.id = counted.pipeline_id`,
    [given],
  );
  const byPipeline = new Map<PipelineId, Counted[]>();
  for (const row of counted) {
    byPipeline.set(row.pipeline_id, [...(byPipeline.get(row.pipeline_id) ?? []), row]);
  }
  const rows = new Writes(tx);
  for (const [id, counts] of byPipeline) {
    const starts = counts.flatMap(({ started_at }) => started_at ?? []);
    const started_at = starts.length === 0 ? null : new Date(Math.min(...starts.map(Number)));
    const status = pipelineStatus(counts);
    const [shown] = counts;
    const isShown = shown?.shown_status === status && same(shown.shown_started_at, started_at);
    if (isShown) continue;
    rows.change(pipelines, { id }, { status, started_at });
  }
  await rows.written();
}

const same = (one: Date | null, other: Date | null): boolean => one?.getTime() === other?.getTime();
