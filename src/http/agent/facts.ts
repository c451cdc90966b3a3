import type { JobRow } from "../../projections/pipeline/table.ts";
import { type PipelineFacts, pipelineFacts } from "../../workers/pipeline/job-run.ts";
import { cachedQueryFor } from "../core/cached-query.ts";
import type { Deps } from "../core/deps.ts";

const pipelinesMax = 200;

type FactDeps = Pick<Deps, "db" | "onChange" | "publicUrl">;

const factsByPipeline = cachedQueryFor<PipelineFacts, FactDeps>(
  (key, deps) => {
    const [pipelineId = "", projectId = ""] = key.split(" ");
    return pipelineFacts(deps, { pipeline_id: pipelineId, project_id: projectId });
  },
  (facts, subject) => {
    if (subject !== "jobs" && subject !== "agents") facts.forget();
  },
  { entriesMax: pipelinesMax },
);

/** What the runs of a pipeline are made with, which its jobs need one after the other. */
export function factsOf(
  deps: FactDeps,
  { pipeline_id, project_id }: Pick<JobRow, "pipeline_id" | "project_id">,
): Promise<PipelineFacts | undefined> {
  return factsByPipeline(deps).get(`${pipeline_id} ${project_id}`);
}
