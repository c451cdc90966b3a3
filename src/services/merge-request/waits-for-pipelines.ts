import type { Judgement, RequirementName } from "./judge.ts";

const ofPipelines: readonly string[] = [
  "LAST_PIPELINE_SUCCESS",
  "MERGE_RESULTS_PIPELINE_SUCCESS",
] satisfies readonly RequirementName[];

/** Whether pipelines are all that a merge waits for; false when it waits for nothing. */
export function waitsForPipelines({ requirements, pipelines }: Judgement): boolean {
  const unmet = Object.entries(requirements).flatMap(([name, isMet]) => (isMet ? [] : [name]));
  const others = unmet.filter((name) => !ofPipelines.includes(name));
  return others.length === 0 && (unmet.length > 0 || pipelines.pending);
}
