import type { JobRow } from "../../projections/pipeline/table.ts";
import { type PipelineFacts, pipelineFacts } from "../../workers/pipeline/job-run.ts";
import { type Remembered, remembered } from "../core/cached-query.ts";
import type { Deps } from "../core/deps.ts";

const pipelinesMax = 200;

const byListener = new WeakMap<Deps["onChange"], Remembered<PipelineFacts>>();

/** What the runs of a pipeline are made with, which its jobs ask for one after the other. */
export function factsOf(
  { db, onChange }: Pick<Deps, "db" | "onChange">,
  { pipeline_id, project_id }: Pick<JobRow, "pipeline_id" | "project_id">,
): Promise<PipelineFacts | undefined> {
  const known = byListener.get(onChange);
  if (known !== undefined) return known.get(keyOf(pipeline_id, project_id));
  const facts = remembered(
    (key) => {
      const [pipelineId = "", projectId = ""] = key.split(" ");
      return pipelineFacts({ db }, { pipeline_id: pipelineId, project_id: projectId });
    },
    { entriesMax: pipelinesMax },
  );
  onChange((subject) => {
    if (subject !== "jobs" && subject !== "agents") facts.forget();
  });
  byListener.set(onChange, facts);
  return facts.get(keyOf(pipeline_id, project_id));
}

const keyOf = (pipelineId: string, projectId: string): string => `${pipelineId} ${projectId}`;
