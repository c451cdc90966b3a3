import type { JobSpec } from "../../events/pipeline/job-spec.ts";

const timeoutDefaultSeconds = 3_600;

/** How long a job may run, in seconds. @param agentMax what its agent allows at most; null: anything */
export function timeoutOf({ timeoutSeconds }: JobSpec, agentMax: number | null): number {
  return Math.min(timeoutSeconds ?? timeoutDefaultSeconds, agentMax ?? Number.POSITIVE_INFINITY);
}
