import type { Knex } from "knex";

import type { EnvironmentState } from "../../events/pipeline/environment.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { partPattern } from "../list/folded.ts";
import { type Part, partOf, type Slice } from "../list/list-rows.ts";
import { countedNear } from "../list/total.ts";
import { type DeploymentRow, type EnvironmentRow, openStatuses } from "./environment-table.ts";

export type EnvironmentFilter = Readonly<{
  /** Any of them. */
  state?: readonly EnvironmentState[] | undefined;
  /** A part of the name, in any case. */
  q?: string | undefined;
}>;

/** By name. The total is counted to 500 beyond the page. */
export function listEnvironments(
  db: Knex,
  project_id: string,
  { state, q }: EnvironmentFilter,
  part: Part,
): Promise<Slice<EnvironmentRow>> {
  const found = () => {
    const query = db("environment").where({ project_id });
    if (state !== undefined) query.whereIn("state", state);
    if (q !== undefined) query.whereRaw("public.folded(name) ~ ?", [partPattern(q)]);
    return query;
  };
  return partOf(
    found,
    (rows) => rows.orderBy(["name", "id"]),
    part,
    (all) => countedNear(db, all, part),
  );
}

/** An environment of this very project. */
export async function findEnvironment(
  db: Knex,
  project_id: string,
  id: string,
): Promise<EnvironmentRow | undefined> {
  return db("environment").where({ project_id, id }).first("*");
}

/** Whether a run of a job is for it that has not ended. */
export async function isEnvironmentInUse(db: Knex, environmentId: string): Promise<boolean> {
  const open = db("deployment")
    .where({ environment_id: environmentId })
    .whereIn("status", openStatuses);
  return (await open.first("job_id")) !== undefined;
}

/** With the numbers by which its job and its pipeline are known; null once they are deleted. */
export type NumberedDeployment = DeploymentRow &
  Readonly<{
    job_local_id: number | null;
    job_name: string | null;
    pipeline_local_id: number | null;
  }>;

const numbered = (db: Knex): Knex.QueryBuilder =>
  db("deployment")
    .leftJoin("pipeline_job", "pipeline_job.id", "deployment.job_id")
    .leftJoin("pipeline", "pipeline.id", "deployment.pipeline_id")
    .select(
      "deployment.*",
      "pipeline_job.local_id as job_local_id",
      "pipeline_job.name as job_name",
      "pipeline.local_id as pipeline_local_id",
    );

/** Newest first. The total is counted to 500 beyond the page. */
export async function listDeployments(
  db: Knex,
  environmentId: string,
  { status }: Readonly<{ status?: readonly PipelineStatus[] | undefined }>,
  part: Part,
): Promise<Slice<NumberedDeployment>> {
  const where = (query: Knex.QueryBuilder): void => {
    query.where("deployment.environment_id", environmentId);
    if (status !== undefined) query.whereIn("deployment.status", status);
  };
  const [rows, total] = await Promise.all([
    numbered(db)
      .where(where)
      .whereNotNull("deployment.number")
      .orderBy("deployment.number", "desc")
      .limit(part.limit)
      .offset(part.offset),
    countedNear(db, db("deployment").where(where).whereNotNull("number"), part),
  ]);
  return { rows, total };
}

/** The last deployment that succeeded, of each of these that has one. */
export async function lastDeployments(
  db: Knex,
  environments: readonly EnvironmentRow[],
): Promise<ReadonlyMap<string, NumberedDeployment>> {
  const wanted = environments.filter(({ last_number }) => last_number !== null);
  if (wanted.length === 0) return new Map();
  const keys = wanted.map(({ id, last_number }) => [id, last_number]);
  const rows: readonly NumberedDeployment[] = await numbered(db).whereIn(
    ["deployment.environment_id", "deployment.number"],
    keys as [string, number][],
  );
  return new Map(rows.map((row) => [row.environment_id, row]));
}

/** The last deployment that succeeded; it knows the job that stops the environment. */
export async function lastDeployment(
  db: Knex,
  environment: EnvironmentRow,
): Promise<NumberedDeployment | undefined> {
  return (await lastDeployments(db, [environment])).get(environment.id);
}

/** Environments that are to be stopped by themselves, whose time has come. */
export async function expiredEnvironments(
  db: Knex,
  now: Date,
  countMax: number,
): Promise<readonly EnvironmentRow[]> {
  return db("environment")
    .where({ state: "AVAILABLE" })
    .where("auto_stop_at", "<=", now)
    .orderBy("auto_stop_at")
    .limit(countMax);
}

/** Environments whose last deployment is of this branch and that a job stops. */
export async function environmentsOfBranch(
  db: Knex,
  project_id: string,
  branch: string,
  countMax: number,
): Promise<readonly EnvironmentRow[]> {
  return db("environment")
    .where({ project_id, ref: branch, is_tag: false, state: "AVAILABLE" })
    .whereNotNull("on_stop")
    .orderBy("name")
    .limit(countMax);
}
