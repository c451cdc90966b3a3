import type { Knex } from "knex";

import type { JobRow } from "../pipeline/table.ts";

type Which = Readonly<{ queuedBefore: Date; limit: number }>;

/** Jobs that have waited since before a time, and that no active agent may take. The oldest come first. */
export async function jobsWithoutAgent(
  db: Knex,
  { queuedBefore, limit }: Which,
): Promise<readonly JobRow[]> {
  const { rows } = await db.raw<{ rows: readonly JobRow[] }>(
    `select job.* from pipeline_job job
     join project on project.id = job.project_id
     left join team on team.id = project.owner_id
     where job.queued and not job.is_trigger and job.status = 'PENDING' and job.queued_at < ?
       and not exists (
         select from agent
         where agent.active and job.tags <@ agent.tags
           and (agent.run_untagged or job.tags <> '{}')
           and (agent.owner_type = 'GLOBAL'
             or (agent.owner_type = 'PROJECT' and agent.owner_id = job.project_id)
             or (agent.owner_type = 'COMPANY' and agent.owner_id in (project.owner_id, team.owner_id)))
       )
     order by job.queued_at, job.place, job.id limit ?`,
    [queuedBefore, limit],
  );
  return rows;
}

/** Jobs that have waited for an agent since before a time. */
export async function jobsQueuedBefore(
  db: Knex,
  { queuedBefore, limit }: Which,
): Promise<readonly JobRow[]> {
  return db<JobRow>("pipeline_job")
    .where({ queued: true, is_trigger: false })
    .where("queued_at", "<", queuedBefore)
    .orderBy(["queued_at", "place", "id"])
    .limit(limit);
}

/** Runs of agents that have not been heard of since a time. */
export async function silentRuns(
  db: Knex,
  { heardBefore, limit }: Readonly<{ heardBefore: Date; limit: number }>,
): Promise<readonly Pick<JobRow, "id" | "attempt">[]> {
  const { rows } = await db.raw<{ rows: readonly Pick<JobRow, "id" | "attempt">[] }>(
    `select job.id, job.attempt from pipeline_job as job
     left join public.job_run as run on run.job_id = job.id and run.token_hash = job.token_hash
     where job.token_hash is not null and coalesce(run.contact_at, job.assigned_at) < ?
     limit ?`,
    [heardBefore, limit],
  );
  return rows;
}
