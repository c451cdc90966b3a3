import type { JobRow } from "../../projections/pipeline/table.ts";
import { type PipelineFacts, pipelineFacts } from "../../workers/pipeline/job-run.ts";
import { rememberedFor } from "../core/cached-query.ts";
import type { Deps } from "../core/deps.ts";

const pipelinesMax = 200;

const factsByPipeline = rememberedFor<PipelineFacts>(
  (key, db) => {
    const [pipelineId = "", projectId = "", publicUrl = ""] = key.split(" ");
    return pipelineFacts({ db, publicUrl }, { pipeline_id: pipelineId, project_id: projectId });
  },
  (facts, subject) => {
    if (subject !== "jobs" && subject !== "agents") facts.forget();
  },
  { entriesMax: pipelinesMax },
);

/** What the runs of a pipeline are made with, which its jobs need one after the other. */
export function factsOf(
  deps: Pick<Deps, "db" | "onChange" | "publicUrl">,
  { pipeline_id, project_id }: Pick<JobRow, "pipeline_id" | "project_id">,
): Promise<PipelineFacts | undefined> {
  return factsByPipeline(deps).get(`${pipeline_id} ${project_id} ${deps.publicUrl}`);
}
