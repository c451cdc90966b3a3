import type { Knex } from "knex";

import { isFinished, PipelineStatus } from "../../events/pipeline/status.ts";
import { someStaged, stageGoesOn } from "./some-job.ts";
import type { JobRow } from "./table.ts";

/** What the end of a job lets begin, as far as a few jobs of its pipeline show. */
export type JobEnd = Pick<JobRow, "id" | "project_id" | "name" | "resource_group"> &
  Readonly<{
    /** No other job begins by it, nor does its pipeline end: others of its stage go on, and none that has not begun names it. */
    movesNone: boolean;
    /**
     * The jobs that wait for it by its name, and all jobs that these need. None where it has not succeeded, or where
     * its end may let jobs begin that wait for whole stages.
     */
    near: readonly JobRow[];
  }>;

/** One that is to run once more has another status. */
const finished = PipelineStatus.options
  .filter(isFinished)
  .map((status) => `'${status}'`)
  .join(", ");

/** What the ends of these jobs let begin; none of those that are gone. */
export async function endsOf(db: Knex, ids: readonly string[]): Promise<readonly JobEnd[]> {
  const [only] = ids;
  if (only === undefined) return [];
  const { rows } = await db.raw<{ rows: readonly Row[] }>(
    // Postgres keeps a plan for one id, and makes one anew for each list.
    `with ended as materialized (
       select job.id, job.project_id, job.pipeline_id, job.name, job.resource_group, job.status, plan.name_key,
         ${stageGoesOn} as goes_on
       from pipeline_job as job join pipeline_job_spec as plan on plan.job_id = job.id
       where job.id = ${ids.length === 1 ? "?" : "any(?)"}
     ), follower as materialized (
       select ended.id as end_id, job.id from ended
       join pipeline_job_need as need using (name_key)
       join pipeline_job as job on job.id = need.job_id
       where job.status = 'CREATED'
     ), near as (
       select end_id, id from follower
       union
       select follower.end_id, plan.job_id from follower
       join pipeline_job_need as need on need.job_id = follower.id
       join pipeline_job_spec as plan using (name_key)
     )
     select job.*, ended.id as "end:id", ended.project_id as "end:project_id",
       ended.name as "end:name", ended.resource_group as "end:resource_group",
       ended.status in (${finished}) and ended.goes_on
         and not exists (select from follower where follower.end_id = ended.id) as "end:moves_none"
     from ended
     left join near on near.end_id = ended.id and ended.status = 'SUCCESS'
       and (ended.goes_on or not ${someStaged("ended.pipeline_id")})
     left join pipeline_job as job on job.id = near.id`,
    [ids.length === 1 ? only : [...ids]],
  );
  const ends = new Map<string, JobEnd & { near: JobRow[] }>();
  for (const row of rows) {
    const end = ends.get(row["end:id"]) ?? endOf(row);
    ends.set(end.id, end);
    if (row.id !== null) end.near.push(row as JobRow);
  }
  return [...ends.values()];
}

type Row = (JobRow | Readonly<{ id: null }>) &
  Readonly<{
    "end:id": JobRow["id"];
    "end:project_id": JobRow["project_id"];
    "end:name": string;
    "end:resource_group": string | null;
    "end:moves_none": boolean;
  }>;

const endOf = (row: Row) => ({
  id: row["end:id"],
  project_id: row["end:project_id"],
  name: row["end:name"],
  resource_group: row["end:resource_group"],
  movesNone: row["end:moves_none"],
  near: [],
});
