import type { Knex } from "knex";

import { hashToken, isToken } from "../../platform/key/token.ts";
import { findProjectById, type ProjectRow } from "../project/project.ts";

/** The project of the job whose run has this token; undefined once the run is over. */
export async function projectOfJob(db: Knex, token: string): Promise<ProjectRow | undefined> {
  if (!isToken(token)) return undefined;
  const job = await db("pipeline_job")
    .where({ token_hash: hashToken(token) })
    .first<{ project_id: string } | undefined>("project_id");
  return job && (await findProjectById(db, job.project_id));
}
