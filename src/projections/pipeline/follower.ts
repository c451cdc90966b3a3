import type { Knex } from "knex";

import type { JobId } from "../../events/pipeline/id.ts";
import { someStaged, stageGoesOn } from "./some-job.ts";
import type { JobRow } from "./table.ts";

/**
 * The jobs that wait for a job by its name, and all jobs that these need. None where the job has not succeeded, or where
 * its end may let jobs begin that wait for whole stages.
 */
export async function followersOf(db: Knex, id: JobId): Promise<readonly JobRow[]> {
  const { rows } = await db.raw<{ rows: readonly JobRow[] }>(
    `with ended as materialized (
       select job.id, job.pipeline_id, job.name from pipeline_job as job
       where job.id = ? and job.status = 'SUCCESS'
         and (not ${someStaged("job.pipeline_id")} or ${stageGoesOn})
     ), follower as materialized (
       select job.id, job.needs from pipeline_job as job join ended using (pipeline_id)
       where job.status = 'CREATED' and job.needs is not null and job.needs @> array[ended.name]
     ), more as materialized (
       select unnest(needs) as name from follower except select name from ended
     )
     select job.* from pipeline_job as job
     where job.id = any(array(select id from follower))
       or job.id = (select id from ended where exists (select from follower))
     union all
     select job.* from pipeline_job as job join ended using (pipeline_id)
     where exists (select from more) and job.name in (select name from more)
       and job.id <> all(array(select id from follower))`,
    [id],
  );
  return rows;
}
