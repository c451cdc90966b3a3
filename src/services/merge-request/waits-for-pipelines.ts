import type { Judgement } from "./judge.ts";
import type { RequirementName } from "./requirement.ts";

const ofPipelines: readonly (string | undefined)[] = [
  "LAST_PIPELINE_SUCCESS",
  "MERGE_RESULTS_PIPELINE_SUCCESS",
] satisfies readonly RequirementName[];

/** Whether pipelines are all that a merge waits for; false when it waits for nothing. */
export function waitsForPipelines({ errors, pipelines }: Judgement): boolean {
  const others = errors.filter(({ field }) => !ofPipelines.includes(field));
  return others.length === 0 && (errors.length > 0 || pipelines.pending);
}
