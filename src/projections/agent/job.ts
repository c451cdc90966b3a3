import type { Knex } from "knex";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import type { JobRunRow } from "../../platform/job-log/store.ts";
import type { Part, Slice } from "../list/list-rows.ts";
import { countedNear } from "../list/total.ts";
import type { JobRow } from "../pipeline/table.ts";
import type { WhoseAgents } from "./agent.ts";
import { cancelingJobId } from "./job-token.ts";

export type AgentJobRow = JobRow &
  Readonly<{ ref: string; is_tag: boolean; pipeline_local_id: number | null }>;

type Which = Readonly<{
  owner: WhoseAgents;
  /** Undefined: all agents of the owner. */
  agentId?: string;
  /** Any of them. */
  statuses?: readonly PipelineStatus[] | undefined;
}>;

/** Jobs that agents were given, the newest first. The total is counted to 500 beyond the page. */
export async function listAgentJobs(
  db: Knex,
  { owner, agentId, statuses }: Which,
  part: Part,
): Promise<Slice<AgentJobRow>> {
  const meant = () => {
    const agents = db("agent").select("id");
    if (owner !== undefined) agents.where({ owner_type: owner.type, owner_id: owner.id });
    if (agentId !== undefined) agents.where({ id: agentId });
    const query = db("pipeline_job as job").whereIn("job.agent_id", agents);
    return statuses === undefined ? query : query.whereIn("job.status", statuses);
  };
  const rows = meant()
    .join("pipeline", "pipeline.id", "job.pipeline_id")
    .orderBy([
      { column: "job.assigned_at", order: "desc" },
      { column: "job.id", order: "desc" },
    ])
    .limit(part.limit)
    .offset(part.offset)
    .select<AgentJobRow[]>(
      "job.*",
      "pipeline.ref",
      "pipeline.is_tag",
      "pipeline.local_id as pipeline_local_id",
    );
  const [found, total] = await Promise.all([rows, countedNear(db, meant(), part)]);
  return { rows: found, total };
}

/** A job by its number in the whole service. */
export async function findJobByNumber(
  db: Knex,
  { pipelineNumber, place }: Readonly<{ pipelineNumber: number; place: number }>,
): Promise<JobRow | undefined> {
  return db("pipeline_job as job")
    .join("pipeline", "pipeline.id", "job.pipeline_id")
    .where("pipeline.number", pipelineNumber)
    .andWhere("job.place", place)
    .first<JobRow | undefined>("job.*");
}

const runColumns = [
  ...(["job_id", "attempt", "project_id", "agent_id", "token_hash", "contact_at"] as const),
  ...(["confirmed_at", "final_at", "watched_at", "sealed_at"] as const),
  ...(["received", "stored", "tail"] as const),
  ...(["cancels_gracefully", "canceling_until", "over_at"] as const),
] as const satisfies readonly (keyof JobRunRow)[];

/** A job by its number in the whole service, with its run that has or had this token. */
export async function findJobAndRun(
  db: Knex,
  { pipelineNumber, place }: Readonly<{ pipelineNumber: number; place: number }>,
  tokenHash: string,
): Promise<Readonly<{ job: JobRow; run: JobRunRow }> | undefined> {
  const { rows } = await db.raw<{ rows: readonly Record<string, unknown>[] }>(jobAndRun, [
    ...[pipelineNumber, place],
    tokenHash,
  ]);
  const [row] = rows;
  if (row === undefined) return undefined;
  const [run, job]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  for (const name of Object.keys(row)) {
    if (name.startsWith("run:")) run[name.slice("run:".length)] = row[name];
    else job[name] = row[name];
  }
  return { job: job as JobRow, run: run as JobRunRow };
}

/** As text: agents request it with each request. */
const jobAndRun = `select job.*, ${runColumns.map((name) => `run.${name} as "run:${name}"`).join(", ")}
  from pipeline join pipeline_job as job on job.pipeline_id = pipeline.id
  join public.job_run as run on run.job_id = job.id
  where pipeline.number = ? and job.place = ? and run.token_hash = ?
  order by run.attempt desc limit 1`;

/**
 * Notes that the agent of a run has got its job, unless the run is over.
 *
 * @returns whether it goes on
 */
export async function confirmRun(
  db: Knex,
  { job_id, attempt, token_hash }: Pick<JobRunRow, "job_id" | "attempt" | "token_hash">,
  at: Date,
): Promise<boolean> {
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `update public.job_run as run set confirmed_at = coalesce(run.confirmed_at, ?), contact_at = ?
     from pipeline_job as job
     where run.job_id = ? and run.attempt = ? and run.token_hash = ? and run.over_at is null
       and job.id = run.job_id and job.token_hash = run.token_hash`,
    [at, at, job_id, attempt, token_hash],
  );
  return rowCount > 0;
}

/** The job whose run has this token; undefined once the run is over. */
export async function findJobOfToken(db: Knex, tokenHash: string): Promise<JobRow | undefined> {
  const row = await db<JobRow>("pipeline_job").where({ token_hash: tokenHash }).first();
  if (row !== undefined) return row;
  const id = await cancelingJobId(db, tokenHash);
  return id === undefined ? undefined : db<JobRow>("pipeline_job").where({ id }).first();
}
