import type { Knex } from "knex";
import { JobSpec } from "../../events/pipeline/job-spec.ts";
import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import type { JobRow } from "./table.ts";

/** What an agent may take. */
export type QueueFilter = Readonly<{
  /** Undefined: of all projects. */
  projectIds?: readonly string[] | undefined;
  /** Tags of the agent: a job is taken only when all of its tags are among these. */
  tags: readonly string[];
  runUntagged: boolean;
  /** Jobs that the agent is known to be unable to run, or that it lost a moment ago. */
  except?: readonly string[] | undefined;
  limit: number;
}>;

export type QueuedJob = Readonly<{
  job: JobRow;
  spec: JobSpec;
  /** Of its pipeline. */
  ref: string;
  isTag: boolean;
  mergeRequest: PipelineOrigin["mergeRequest"];
  /** Whether a job of its pipeline has left artifacts; those it waited for have ended. */
  hasArtifacts: boolean;
}>;

type Row = JobRow &
  Readonly<{
    "job:spec": unknown;
    "job:ref": string;
    "job:is_tag": boolean;
    "job:merge_request": PipelineOrigin["mergeRequest"];
    "job:has_artifacts": boolean;
  }>;

/** Jobs at the head of the queue that are compared for fairness. Projects that have none of them come with their first. */
const headMax = 1_000;

/**
 * Queued jobs that fit, those of projects with the fewest running jobs first, and among these the
 * longest waiting. Whether a ref is protected is for the caller to check, as only some agents care.
 *
 * It gives nothing away: `ClaimJob` decides, and refuses `job.taken` to all but one agent. While the read model is built
 * again, or has stopped, there is no job: it would not show the claim, so that the agent could not confirm it.
 */
export async function queuedJobs(db: Knex, filter: QueueFilter): Promise<readonly QueuedJob[]> {
  const { conditions, values } = fitting(filter);
  const fits = `queued and not is_trigger and ${conditions.join(" and ")}`;
  // A plan is kept for a text whose limits are known; to plan it took longer than to run it.
  const { rows } = await db.raw<{ rows: readonly Row[] }>(
    `with head as materialized (
       select id, pipeline_id, project_id, place, queued_at
       from pipeline_job where ${fits} and ${isLive}
       order by queued_at, place, id limit ${headMax}
     ), behind as (
       select distinct on (project_id) id, pipeline_id, project_id, place, queued_at
       from pipeline_job
       where (select count(*) from head) = ${headMax} and ${fits}
         and project_id not in (select project_id from head)
       order by project_id, queued_at, place, id
     ), compared as materialized (
       select * from head union all select * from behind
     ), busy as (
       select project_id, count(*)::int as running from pipeline_job
       where status = 'RUNNING' and project_id in (select project_id from compared)
       group by project_id
     ), first as (
       select compared.id, compared.queued_at, compared.place, pipeline.ref, pipeline.is_tag, pipeline.merge_request,
         coalesce(busy.running, 0) + row_number() over
           (partition by compared.project_id order by compared.queued_at, compared.place, compared.id) as turn
       from compared join pipeline on pipeline.id = compared.pipeline_id
       left join busy on busy.project_id = compared.project_id
       where pipeline.number is not null and pipeline.local_id is not null
       order by turn, compared.queued_at, compared.place, compared.id
       limit ${Math.trunc(filter.limit)}
     )
     select job.*, spec.spec as "job:spec", first.ref as "job:ref",
       first.is_tag as "job:is_tag", first.merge_request as "job:merge_request",
       (select true from job_artifact where job_artifact.pipeline_id = job.pipeline_id limit 1)
         is not null as "job:has_artifacts"
     from first join pipeline_job as job on job.id = first.id
     join pipeline_job_spec as spec on spec.job_id = first.id
     order by first.turn, first.queued_at, first.place, first.id`,
    [...values, ...values],
  );
  return rows.map(queuedJob);
}

const isLive =
  "exists (select from public.projection_checkpoint where name = 'pipeline' and state = 'live')";

type Condition = readonly [sql: string, value?: string[]];

function fitting({ projectIds, tags, runUntagged, except = [] }: QueueFilter) {
  const all: Condition[] = [["tags <@ ?::text[]", [...tags]]];
  if (!runUntagged) all.push(["tags <> '{}'"]);
  if (projectIds !== undefined) all.push(["project_id = any(?::uuid[])", [...projectIds]]);
  if (except.length > 0) all.push(["id <> all(?::uuid[])", [...except]]);
  return {
    conditions: all.map(([sql]) => sql),
    values: all.flatMap(([, value]) => (value === undefined ? [] : [value])),
  };
}

function queuedJob(row: Row): QueuedJob {
  const { "job:spec": stored, "job:ref": ref, ...rest } = row;
  const { "job:is_tag": isTag, "job:merge_request": mergeRequest, ...more } = rest;
  const { "job:has_artifacts": hasArtifacts, ...job } = more;
  let spec: JobSpec | undefined;
  return {
    ...{ job, ref, isTag, mergeRequest, hasArtifacts },
    // Most candidates are not read.
    get spec() {
      spec ??= JobSpec.parse(stored);
      return spec;
    },
  };
}
