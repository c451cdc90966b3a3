import type { Recorded } from "../../events/core/event.ts";
import type { JobEvent } from "../../events/pipeline/job.ts";
import type { Writes } from "../core/writes.ts";
import { someActive, someEnded, someManual, someNeeding, someStaged } from "./some-job.ts";

/** What a batch says of a pipeline. */
export type Touched = {
  /** The earliest start of a job in it. */
  startedAt: string | null;
  /** A job that had started may be to run once more. */
  isReset: boolean;
};

export function touch(touched: Touched, { type, data }: Recorded<JobEvent>): void {
  if (type === "JobStarted" && (touched.startedAt === null || data.startedAt < touched.startedAt)) {
    touched.startedAt = data.startedAt;
  }
  touched.isReset ||=
    type === "JobReset" || type === "JobReturned" || (type === "JobQueued" && data.attempt > 1);
}

/**
 * Computes status and start of pipelines from their jobs and writes them where they are others. A statement for one
 * pipeline is nearly always enough: Postgres keeps a plan for it, and makes one anew for each list.
 */
export function refreshPipelines(rows: Writes, touched: ReadonlyMap<string, Touched>): void {
  const ids = [...touched.keys()];
  const [[id, only] = []] = touched;
  if (id === undefined || only === undefined) return;
  if (ids.length > 1) rows.run((db) => db.raw(refresh("= any(?)", firstStart), [ids]));
  else if (only.isReset) rows.run((db) => db.raw(refresh("= ?", firstStart), [id]));
  else if (only.startedAt === null) rows.run((db) => db.raw(refresh("= ?", "started_at"), [id]));
  else {
    // Of jobs that start for the first time, none is earlier than what the pipeline shows.
    const started = "least(started_at, ?::timestamptz)";
    rows.run((db) => db.raw(refresh("= ?", started), [only.startedAt, id]));
  }
}

const firstStart =
  "(select min(job.started_at) from pipeline_job as job where job.pipeline_id = pipeline.id)";

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

const refresh = (are: string, startedAt: string): string =>
  `with fresh as materialized (
     select pipeline.id, ${status} as status, ${startedAt} as started_at
     from pipeline where pipeline.id ${are}
   )
   update pipeline as stored set status = fresh.status, started_at = fresh.started_at from fresh
   where stored.id = fresh.id and fresh.status is not null
     and (stored.status, stored.started_at) is distinct from (fresh.status, fresh.started_at)`;
