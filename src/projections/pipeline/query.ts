import type { Knex } from "knex";

import { JobSpec } from "../../events/pipeline/job-spec.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { type Part, partOf, type Slice } from "../list/list-rows.ts";
import { countedNear } from "../list/total.ts";
import type { JobRow, PipelineRow } from "./table.ts";

export type PipelineFilter = Readonly<{
  branch?: string | undefined;
  tag?: string | undefined;
  /** Any of them. */
  status?: readonly PipelineStatus[] | undefined;
  commitId?: string | undefined;
}>;

/**
 * Newest first. Without a filter the total is exact; with one it is counted to 500 beyond the page.
 */
export function listPipelines(
  db: Knex,
  projectId: string,
  { branch, tag, status, commitId }: PipelineFilter,
  part: Part,
): Promise<Slice<PipelineRow>> {
  const filtered = () => {
    const query = db("pipeline").where({ project_id: projectId }).whereNotNull("local_id");
    if (branch !== undefined) query.where({ ref: branch, is_tag: false });
    if (tag !== undefined) query.where({ ref: tag, is_tag: true });
    if (status !== undefined) query.whereIn("status", status);
    if (commitId !== undefined) query.where({ commit_id: commitId });
    return query;
  };
  const isFiltered = [branch, tag, status, commitId].some((each) => each !== undefined);
  const count = (all: Knex.QueryBuilder) =>
    isFiltered ? countedNear(db, all, part) : pipelineTotal(db, projectId);
  return partOf(filtered, (rows) => rows.orderBy("local_id", "desc"), part, count);
}

export type MergeRequestKey = Readonly<{
  /** Of the target branch. */
  projectId: string;
  localId: number;
}>;

/**
 * Pipelines of a merge request and of these commits, in any of the projects, newest first; counted to
 * 500 beyond the page.
 */
export function pipelinesOfMergeRequest(
  db: Knex,
  {
    projectIds,
    commitIds,
    mergeRequest,
  }: Readonly<{
    projectIds: readonly string[];
    commitIds: readonly string[];
    mergeRequest: MergeRequestKey;
  }>,
  part: Part,
): Promise<Slice<PipelineRow>> {
  const found = () =>
    db("pipeline")
      .whereRaw("project_id = any(?)", [[...projectIds]])
      .where((either) =>
        either
          .whereRaw("commit_id = any(?)", [[...commitIds]])
          .orWhere(ofMergeRequest(mergeRequest)),
      )
      .whereNotNull("local_id");
  const sorted = ["created_at", "id"].map((column) => ({ column, order: "desc" as const }));
  return partOf(
    found,
    (rows) => rows.orderBy(sorted),
    part,
    (all) => countedNear(db, all, part),
  );
}

const ofMergeRequest = ({ projectId, localId }: MergeRequestKey) => ({
  merge_request_project_id: projectId,
  merge_request_number: localId,
});

/**
 * The newest pipeline of a merge request for this version of its source, and on that commit merged with this
 * one of the target where that is given. Child pipelines count through the job that started them.
 */
export async function lastMergeRequestPipeline(
  db: Knex,
  key: MergeRequestKey,
  { sourceCommit, targetCommit }: Readonly<{ sourceCommit: string; targetCommit?: string }>,
): Promise<Pick<PipelineRow, "id" | "status"> | undefined> {
  const query = db("pipeline")
    .where(ofMergeRequest(key))
    .whereRaw("merge_request->>'sourceCommit' = ?", [sourceCommit])
    .whereNull("parent_pipeline_id")
    .whereNotNull("local_id");
  if (targetCommit !== undefined) {
    query.whereRaw("merge_request->>'targetCommit' = ?", [targetCommit]);
  }
  return query.orderBy("created_at", "desc").first("id", "status");
}

async function pipelineTotal(db: Knex, project_id: string): Promise<number> {
  const row = await db<{ project_id: string; total: number }>("pipeline_count")
    .where({ project_id })
    .first("total");
  return row?.total ?? 0;
}

/** A pipeline of this very project by its number there. */
export async function findPipeline(
  db: Knex,
  projectId: string,
  localId: number,
): Promise<PipelineRow | undefined> {
  return db("pipeline").where({ project_id: projectId, local_id: localId }).first("*");
}

export async function findPipelineById(db: Knex, id: string): Promise<PipelineRow | undefined> {
  return db("pipeline").where({ id }).first("*");
}

/** In the order of stages. */
export function listJobs(db: Knex, pipelineId: string, part: Part): Promise<Slice<JobRow>> {
  const own = () => db("pipeline_job").where({ pipeline_id: pipelineId });
  const count = async () =>
    (await db("pipeline").where({ id: pipelineId }).first("jobs"))?.jobs ?? 0;
  return partOf(own, (rows) => rows.orderBy("place"), part, count);
}

/** A job of this very project by its number there. */
export async function findJob(
  db: Knex,
  projectId: string,
  localId: number,
): Promise<JobRow | undefined> {
  return db("pipeline_job").where({ project_id: projectId, local_id: localId }).first("*");
}

export async function findJobById(db: Knex, id: string): Promise<JobRow | undefined> {
  return db("pipeline_job").where({ id }).first("*");
}

const orderColumns = [
  "id",
  "name",
  "stage_index",
  "status",
  "job_when",
  "needs",
  "may_fail",
  "released",
  "delayed_until",
  "started_at",
  "finished_at",
  "failure_reason",
] as const;

/** What decides which job is next, and how a pipeline ends. */
export type JobInOrder = Pick<JobRow, (typeof orderColumns)[number]>;

/** All jobs of a pipeline, in the order of stages: as little of each as decides what comes next. */
export async function jobsInOrder(db: Knex, pipelineId: string): Promise<readonly JobInOrder[]> {
  return db("pipeline_job")
    .where({ pipeline_id: pipelineId })
    .orderBy("place")
    .select<JobInOrder[]>([...orderColumns]);
}

/** Those of a few jobs, in no order. */
export async function findJobs(db: Knex, ids: readonly string[]): Promise<readonly JobRow[]> {
  return ids.length === 0 ? [] : db("pipeline_job").whereRaw("id = any(?)", [[...ids]]);
}

/**
 * Jobs of a pipeline that have artifacts, in the order of stages.
 *
 * @param of those of these names, or all of stages before this one
 */
export async function jobsWithArtifacts(
  db: Knex,
  pipeline_id: string,
  of: Readonly<{ names: readonly string[] } | { stageBefore: number }>,
): Promise<readonly JobRow[]> {
  const [condition, value] =
    "names" in of ? ["job.name = any(?)", [...of.names]] : ["job.stage_index < ?", of.stageBefore];
  // Few pipelines have artifacts: their jobs are looked up, not all jobs of the pipeline.
  const { rows } = await db.raw<{ rows: readonly JobRow[] }>(
    `select job.* from pipeline_job as job
     where job.id = any(array(select distinct job_id from job_artifact where pipeline_id = ?))
       and ${condition} order by job.place`,
    [pipeline_id, value],
  );
  return rows;
}

/** All jobs of a pipeline, in the order of stages. */
export async function allJobs(db: Knex, pipelineId: string): Promise<readonly JobRow[]> {
  return db("pipeline_job").where({ pipeline_id: pipelineId }).orderBy("place");
}

export async function findJobSpec(db: Knex, jobId: string): Promise<JobSpec | undefined> {
  const row = await db("pipeline_job_spec").where({ job_id: jobId }).first("spec");
  return row === undefined ? undefined : JobSpec.parse(row.spec);
}

export async function jobSpecs(
  db: Knex,
  jobIds: readonly string[],
): Promise<ReadonlyMap<string, JobSpec>> {
  if (jobIds.length === 0) return new Map();
  const rows: readonly { job_id: string; spec: unknown }[] = await db("pipeline_job_spec")
    .whereIn("job_id", [...jobIds])
    .select("job_id", "spec");
  return new Map(rows.map(({ job_id, spec }) => [job_id, JobSpec.parse(spec)]));
}

/**
 * The status of the newest pipeline of a commit, or of a branch or tag; undefined when there is
 * none.
 */
export async function lastPipeline(
  db: Knex,
  projectId: string,
  where: Readonly<{ commitId: string; ofBranch?: boolean } | { ref: string; isTag: boolean }>,
): Promise<Pick<PipelineRow, "id" | "local_id" | "status" | "commit_id"> | undefined> {
  const query = db("pipeline").where({ project_id: projectId }).whereNotNull("local_id");
  if ("commitId" in where) query.where({ commit_id: where.commitId });
  else query.where({ ref: where.ref, is_tag: where.isTag });
  if ("ofBranch" in where && where.ofBranch)
    query.where({ is_tag: false }).whereNull("merge_request");
  // Child pipelines count through the job that started them.
  return query
    .whereNull("parent_pipeline_id")
    .orderBy("local_id", "desc")
    .first("id", "local_id", "status", "commit_id");
}

/** How many pipelines one has started, directly or not; more than so many are not counted. */
export async function countStarted(db: Knex, rootId: string, countMax: number): Promise<number> {
  const { rows } = await db.raw<{ rows: readonly { count: number }[] }>(
    `with recursive started as (
       select id from pipeline where parent_pipeline_id = :rootId
       union all
       select pipeline.id from pipeline join started on pipeline.parent_pipeline_id = started.id
     )
     select count(*)::int as count from (select from started limit :countMax) as counted`,
    { rootId, countMax },
  );
  return rows[0]?.count ?? 0;
}

/** Of all pipelines of a project, oldest first. */
export async function pipelineIds(db: Knex, projectId: string): Promise<readonly string[]> {
  return db("pipeline").where({ project_id: projectId }).orderBy("local_id").pluck("id");
}

/** Pipelines that were created before a time and have no number, with their jobs. */
export async function unnumberedPipelines(
  db: Knex,
  before: Date,
  countMax: number,
): Promise<
  readonly (Pick<PipelineRow, "id" | "project_id"> & { jobIds: readonly JobRow["id"][] })[]
> {
  const rows: readonly Pick<PipelineRow, "id" | "project_id">[] = await db("pipeline")
    .whereNull("local_id")
    .where("created_at", "<", before)
    .limit(countMax)
    .select("id", "project_id");
  return Promise.all(
    rows.map(async (row) => ({
      ...row,
      jobIds: await db("pipeline_job").where({ pipeline_id: row.id }).orderBy("place").pluck("id"),
    })),
  );
}

/** Pipelines with a delayed job whose time came before this and that was not queued. */
export async function overduePipelines(
  db: Knex,
  before: Date,
  countMax: number,
): Promise<readonly string[]> {
  return db("pipeline_job")
    .where({ status: "CREATED" })
    .where("delayed_until", "<", before)
    .limit(countMax)
    .distinct()
    .pluck("pipeline_id");
}
