import type { Knex } from "knex";

import type { JobId } from "../../events/pipeline/id.ts";
import type { JobRow } from "./table.ts";

/**
 * The jobs that wait for a job by its name, and all jobs that these need. None where the job has not succeeded, or where
 * its end may let jobs begin that wait for whole stages.
 */
export async function followersOf(db: Knex, id: JobId): Promise<readonly JobRow[]> {
  const { rows } = await db.raw<{ rows: readonly JobRow[] }>(
    `with ended as (
       select pipeline_id, name from pipeline_job as job
       where id = ? and status = 'SUCCESS' and (
         exists (
           select from pipeline_job as other
           where other.pipeline_id = job.pipeline_id and other.stage_index = job.stage_index
             and other.status in ('CREATED', 'PENDING', 'WAITING_FOR_RESOURCE', 'RUNNING'))
         or not exists (
           select from pipeline_job as other
           where other.pipeline_id = job.pipeline_id and other.status = 'CREATED'
             and other.needs is null))
     ), follower as materialized (
       select job.id, job.needs from pipeline_job as job join ended using (pipeline_id)
       where job.status = 'CREATED' and job.needs @> array[ended.name]
     )
     select job.* from pipeline_job as job join ended using (pipeline_id)
     where job.id in (select id from follower)
       or job.name in (select unnest(needs) from follower)`,
    [id],
  );
  return rows;
}
