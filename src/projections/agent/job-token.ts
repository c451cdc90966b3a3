import type { Knex } from "knex";

import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { JobId } from "../../events/pipeline/id.ts";

/** The canceled job whose agent may still go on, by the token of the run. */
export async function cancelingJobId(db: Knex, tokenHash: string): Promise<JobId | undefined> {
  const { rows } = await db.raw<{ rows: readonly { id: JobId }[] }>(
    `select job.id from public.job_run as run
     join pipeline_job as job on job.id = run.job_id and job.attempt = run.attempt
     where run.token_hash = ? and run.canceling_until > now() and run.over_at is null
       and job.status = 'CANCELED'`,
    [tokenHash],
  );
  return rows[0]?.id;
}

/** What `find` finds of the job that has this token, or had it when it was canceled a moment ago. */
async function ofRun<Row>(
  db: Knex,
  tokenHash: string,
  find: (which: Readonly<Record<string, string>>) => Promise<Row | undefined>,
): Promise<Row | undefined> {
  const row = await find({ "job.token_hash": tokenHash });
  const id = row === undefined ? await cancelingJobId(db, tokenHash) : undefined;
  return id === undefined ? row : find({ "job.id": id });
}

export type JobPipeline = Readonly<{ commit_id: string; is_tag: boolean }>;

/** The pipeline of the job whose run has this token; undefined once the run is over. */
export async function pipelineOfJobToken(
  db: Knex,
  tokenHash: string,
): Promise<JobPipeline | undefined> {
  return ofRun(db, tokenHash, (which) =>
    db("pipeline_job as job")
      .join("pipeline", "pipeline.id", "job.pipeline_id")
      .where(which)
      .first<JobPipeline | undefined>("pipeline.commit_id", "pipeline.is_tag"),
  );
}

export type JobActor = Readonly<{
  projectId: ProjectId;
  /** Null for a job of a push that nobody is known to have made. */
  user: Readonly<{ id: UserId; alias: string }> | null;
}>;

/**
 * For whom the run with this token acts, and where: who played the job, else who restarted it, else who
 * started the pipeline. Undefined once the run is over, and when the person is blocked or gone.
 */
export async function actorOfJobToken(db: Knex, tokenHash: string): Promise<JobActor | undefined> {
  const actor = "coalesce(job.played_by_id, job.reset_by_id, pipeline.user_id)";
  const row = await ofRun(db, tokenHash, (which) =>
    db("pipeline_job as job")
      .join("pipeline", "pipeline.id", "job.pipeline_id")
      .leftJoin("app_user as person", "person.id", db.raw(actor))
      .where(which)
      .first<ActorRow | undefined>(
        "job.project_id",
        "person.alias",
        "person.banned_at",
        "person.forgotten_at",
        db.raw(`${actor} as user_id`),
      ),
  );
  if (row === undefined) return undefined;
  if (row.user_id === null) return { projectId: row.project_id, user: null };
  if (row.alias === null || row.banned_at !== null || row.forgotten_at !== null) return undefined;
  return { projectId: row.project_id, user: { id: row.user_id, alias: row.alias } };
}

type ActorRow = Readonly<{
  project_id: ProjectId;
  user_id: UserId | null;
  alias: string | null;
  banned_at: Date | null;
  forgotten_at: Date | null;
}>;
