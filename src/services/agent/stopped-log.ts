import { deterministicId } from "../../platform/deterministic-id.ts";
import type { Job } from "../../platform/queue/queue.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";

export const jobLogQueue = "job-log";

/** The log of a canceled job whose agent has stopped. */
export const keepLogOfStopped = (
  { id, pipeline_id, project_id }: Pick<JobRow, "id" | "pipeline_id" | "project_id">,
  attempt: number,
): Job => {
  const run = { jobId: id, pipelineId: pipeline_id, projectId: project_id, attempt };
  const jobId = deterministicId("job log of a stopped run", id, attempt);
  return {
    queue: jobLogQueue,
    id: jobId,
    data: { runs: [{ ...run, causeId: jobId, position: "0" }] },
  };
};
