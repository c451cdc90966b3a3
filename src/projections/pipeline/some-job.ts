import type { PipelineStatus } from "../../events/pipeline/status.ts";

/**
 * SQL: whether a job `other` meets the condition. `exists` in an expression would gather those of all pipelines first,
 * and the conditions of a list joined by `or` are tried one after the other only as expressions.
 */
const someJob = (condition: string, order = ""): string =>
  `(select true from pipeline_job as other where ${condition} ${order} limit 1) is not null`;

/** SQL: of the pipeline of a row of this name. */
const ofPipeline = (row: string): string => `other.pipeline_id = ${row}`;

/**
 * SQL: whether a pipeline has a job of one of these statuses that has ended. In the order of an index: where many jobs
 * of a table are of one pipeline, PostgreSQL would rather read the table from its start until it meets one of them.
 */
export const someEnded = (pipelineId: string, statuses: readonly PipelineStatus[]): string =>
  someJob(
    `${ofPipeline(pipelineId)} and other.status in (${statuses.map((status) => `'${status}'`).join(", ")})`,
    "order by other.place",
  );

/** SQL: whether a pipeline has a job that waits for a person and must not fail, by the index of the manual ones. */
export const someManual = (pipelineId: string): string =>
  someJob(`${ofPipeline(pipelineId)} and other.status = 'MANUAL' and not other.may_fail`);

/** SQL: whether a pipeline has an active job of the status, by the index of active jobs. */
export const someActive = (
  { projectId, pipelineId }: Readonly<{ projectId: string; pipelineId: string }>,
  status: "PENDING" | "RUNNING" | "WAITING_FOR_RESOURCE",
  more = "true",
): string =>
  someJob(
    `other.project_id = ${projectId} and other.status = '${status}' and ${ofPipeline(pipelineId)} and ${more}`,
  );

/** SQL: whether a pipeline has a job that waits for whole stages, by the index of these. */
export const someStaged = (pipelineId: string, more = "true"): string =>
  someJob(
    `${ofPipeline(pipelineId)} and other.status = 'CREATED' and other.needs is null and ${more}`,
  );

/** SQL: whether a pipeline has a job that waits for others by their names, by the index of these. */
export const someNeeding = (pipelineId: string, more = "true"): string =>
  someJob(
    `${ofPipeline(pipelineId)} and other.status = 'CREATED' and other.needs is not null and ${more}`,
  );

const ofJob = { projectId: "job.project_id", pipelineId: "job.pipeline_id" };
const sameStage = "other.stage_index = job.stage_index";

/** SQL: whether another job of the stage of a row `job` has not ended. */
export const stageGoesOn = `(${[
  someActive(ofJob, "RUNNING", sameStage),
  someActive(ofJob, "PENDING", sameStage),
  someStaged("job.pipeline_id", sameStage),
  someNeeding("job.pipeline_id", sameStage),
  someActive(ofJob, "WAITING_FOR_RESOURCE", sameStage),
].join(" or ")})`;
