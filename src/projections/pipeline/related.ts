import type { Knex } from "knex";

import type { PipelineRow } from "./table.ts";

/**
 * The pipelines that a pipeline, or one job of it, started.
 *
 * @param countMax more than so many are left out, the newest of one project first
 */
export async function startedPipelines(
  db: Knex,
  parentId: string,
  { jobId, countMax }: Readonly<{ jobId?: string; countMax: number }>,
): Promise<readonly PipelineRow[]> {
  const query = db("pipeline").where({ parent_pipeline_id: parentId });
  if (jobId !== undefined) query.where({ parent_job_id: jobId });
  return query
    .whereNotNull("local_id")
    .orderBy([{ column: "project_id" }, { column: "local_id", order: "desc" }])
    .limit(countMax);
}

/** The pipeline whose job started this one. */
export async function parentPipeline(
  db: Knex,
  pipelineId: string,
): Promise<PipelineRow | undefined> {
  const parent = db("pipeline").where({ id: pipelineId }).select("parent_pipeline_id");
  return db("pipeline").where("id", parent).first();
}
