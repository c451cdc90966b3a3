import { type Change, derive } from "../core/change.ts";
import { someActive, someEnded, someManual, someNeeding, someStaged } from "./some-job.ts";

/** Computes the status of a pipeline from its jobs. */
export const refreshStatus = (pipelineId: string): Change => derive(refresh, pipelineId);

/** Computes the start of a pipeline: that of its first job. */
export const refreshStart = (pipelineId: string): Change => derive(restart, pipelineId);

const ofPipeline = { projectId: "pipeline.project_id", pipelineId: "pipeline.id" };
const isActive = (status: Parameters<typeof someActive>[1]): string =>
  someActive(ofPipeline, status);

const hasBegun = someEnded("pipeline.id", ["SUCCESS", "FAILED", "WARNING"]);
const waitsForPerson = someManual("pipeline.id");
const waits = `(${someStaged("pipeline.id")} or ${someNeeding("pipeline.id")})`;

/** Where all jobs have ended, or may stay undone; null where there is none at all. */
const ofEnded = `(
  select case
    when bool_or(job.status = 'FAILED') then 'FAILED'
    when bool_or(job.status = 'CANCELED' and (pipeline.canceled or not job.may_fail)) then 'CANCELED'
    when bool_or(job.status in ('WARNING', 'CANCELED')) then 'WARNING'
    when bool_or(job.status = 'SUCCESS') then 'SUCCESS'
    when bool_or(job.status = 'SKIPPED') then 'SKIPPED'
    when count(*) > 0 then 'SUCCESS'
  end
  from pipeline_job as job where job.pipeline_id = pipeline.id)`;

/** `pipelineStatus` in SQL, which reads a few jobs of a pipeline that goes on. */
const status = `case
  when ${isActive("RUNNING")} then 'RUNNING'
  when ${isActive("PENDING")} then case when ${hasBegun} then 'RUNNING' else 'PENDING' end
  when ${isActive("WAITING_FOR_RESOURCE")} then
    case when ${hasBegun} then 'RUNNING' else 'WAITING_FOR_RESOURCE' end
  when ${waitsForPerson} then 'MANUAL'
  when ${waits} then case when ${hasBegun} then 'RUNNING' else 'CREATED' end
  else ${ofEnded}
end`;

const refresh = `
  with fresh as materialized (
    select pipeline.id, ${status} as status from pipeline where pipeline.id = any(?)
  )
  update pipeline as stored set status = fresh.status from fresh
  where stored.id = fresh.id and stored.status is distinct from fresh.status
    and fresh.status is not null`;

const restart = `
  with fresh as materialized (
    select pipeline.id, (select min(job.started_at) from pipeline_job as job
      where job.pipeline_id = pipeline.id) as started_at
    from pipeline where pipeline.id = any(?)
  )
  update pipeline as stored set started_at = fresh.started_at from fresh
  where stored.id = fresh.id and stored.started_at is distinct from fresh.started_at`;
