import type { Knex } from "knex";

import type { ProjectId, UserId } from "../../events/core/ids.ts";

export type JobPipeline = Readonly<{ commit_id: string; is_tag: boolean }>;

/** The pipeline of the job whose run has this token; undefined once the run is over. */
export async function pipelineOfJobToken(
  db: Knex,
  tokenHash: string,
): Promise<JobPipeline | undefined> {
  return db("pipeline_job as job")
    .join("pipeline", "pipeline.id", "job.pipeline_id")
    .where("job.token_hash", tokenHash)
    .first<JobPipeline | undefined>("pipeline.commit_id", "pipeline.is_tag");
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
  const row = await db("pipeline_job as job")
    .join("pipeline", "pipeline.id", "job.pipeline_id")
    .leftJoin("app_user as person", "person.id", db.raw(actor))
    .where("job.token_hash", tokenHash)
    .first<ActorRow | undefined>(
      "job.project_id",
      "person.alias",
      "person.banned_at",
      "person.forgotten_at",
      db.raw(`${actor} as user_id`),
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
