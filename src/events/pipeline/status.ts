import { z } from "zod";

/** Of pipelines and of jobs. */
export const PipelineStatus = z.enum([
  "CREATED",
  "PENDING",
  "WAITING_FOR_RESOURCE",
  "RUNNING",
  "SUCCESS",
  "FAILED",
  "CANCELED",
  "SKIPPED",
  "MANUAL",
  "WARNING",
]);
export type PipelineStatus = z.output<typeof PipelineStatus>;

const finished: ReadonlySet<PipelineStatus> = new Set([
  "SUCCESS",
  "FAILED",
  "CANCELED",
  "SKIPPED",
  "WARNING",
]);

/** Nothing happens to it any more by itself. */
export const isFinished = (status: PipelineStatus): boolean => finished.has(status);

/** How many jobs of a pipeline are in a status; `mayFail`: the others go on without their success. */
export type JobCount = Readonly<{ status: PipelineStatus; mayFail: boolean; count: number }>;

/**
 * The status of a pipeline, out of those of its jobs. A manual job that may fail does not hold the
 * pipeline; a required one does once nothing else can go on. A canceled job that may fail counts as a warning, unless
 * the pipeline itself was canceled.
 */
export function pipelineStatus(
  jobs: readonly JobCount[],
  { isCanceled }: Readonly<{ isCanceled: boolean }>,
): PipelineStatus {
  const counted = jobs.filter(({ count }) => count > 0);
  const has = (...statuses: readonly PipelineStatus[]): boolean =>
    counted.some(({ status }) => statuses.includes(status));
  const hasRequired = (wanted: PipelineStatus): boolean =>
    counted.some(({ status, mayFail }) => status === wanted && !mayFail);

  if (has("RUNNING")) return "RUNNING";
  if (has("PENDING")) return begun(has) ? "RUNNING" : "PENDING";
  if (has("WAITING_FOR_RESOURCE")) return begun(has) ? "RUNNING" : "WAITING_FOR_RESOURCE";
  if (hasRequired("MANUAL")) return "MANUAL";
  if (has("CREATED")) return begun(has) ? "RUNNING" : "CREATED";
  if (has("FAILED")) return "FAILED";
  if (isCanceled ? has("CANCELED") : hasRequired("CANCELED")) return "CANCELED";
  if (has("WARNING", "CANCELED")) return "WARNING";
  if (has("SUCCESS")) return "SUCCESS";
  return has("SKIPPED") ? "SKIPPED" : "SUCCESS";
}

const begun = (has: (...statuses: readonly PipelineStatus[]) => boolean): boolean =>
  has("SUCCESS", "FAILED", "WARNING");
