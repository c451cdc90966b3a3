import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import { findPipelineById } from "../../projections/pipeline/query.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../core/deps.ts";

/**
 * `CI_PIPELINE_SOURCE` of a pipeline that a job of another project started: `pipeline`, as in GitLab. Where the other
 * pipeline is deleted it is what it is for children.
 */
export async function parentVariables(
  { db }: Pick<WorkerDeps, "db">,
  project: Pick<ProjectRow, "id">,
  { parent }: Pick<PipelineOrigin, "parent">,
): Promise<Readonly<Record<string, string>>> {
  if (parent === null) return {};
  const above = await findPipelineById(db, parent.pipelineId);
  const isOfOther = above !== undefined && above.project_id !== project.id;
  return isOfOther ? { CI_PIPELINE_SOURCE: "pipeline" } : {};
}
