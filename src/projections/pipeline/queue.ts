import type { Knex } from "knex";
import type { ProjectId } from "../../events/core/ids.ts";
import type { JobId, PipelineId } from "../../events/pipeline/id.ts";
import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";

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
  id: JobId;
  pipeline_id: PipelineId;
  project_id: ProjectId;
  attempt: number;
  place: number;
  name: string;
  ref: string;
  is_tag: boolean;
  merge_request: PipelineOrigin["mergeRequest"];
  tags: readonly string[];
  /** Of the project, now. */
  running: number;
  queued_at: Date;
}>;

/** Jobs at the head of the queue that are compared for fairness. */
const headMax = 1_000;

/**
 * Queued jobs that fit, those of projects with the fewest running jobs first, and among these the
 * longest waiting. Whether a ref is protected is for the caller to ask, as only some agents care.
 *
 * It gives nothing away: `ClaimJob` decides, and refuses `job.taken` to all but one agent.
 */
export async function queuedJobs(db: Knex, filter: QueueFilter): Promise<readonly QueuedJob[]> {
  const { projectIds, tags, runUntagged, except, limit } = filter;
  const { rows } = await db.raw<{ rows: readonly QueuedJob[] }>(
    `with head as (
       select id, pipeline_id, project_id, attempt, place, name, tags, queued_at
       from pipeline_job
       where queued and not is_trigger
         and tags <@ ?::text[] and (? or tags <> '{}')
         and (?::uuid[] is null or project_id = any(?::uuid[]))
         and (?::uuid[] is null or id <> all(?::uuid[]))
       order by queued_at, place, id limit ?
     ), busy as (
       select project_id, count(*)::int as running from pipeline_job
       where status = 'RUNNING' and project_id in (select project_id from head)
       group by project_id
     )
     select head.*, pipeline.ref, pipeline.is_tag, pipeline.merge_request,
       coalesce(busy.running, 0) as running
     from head join pipeline on pipeline.id = head.pipeline_id
     left join busy on busy.project_id = head.project_id
     where pipeline.number is not null
     order by coalesce(busy.running, 0) + row_number() over
       (partition by head.project_id order by head.queued_at, head.place, head.id),
       head.queued_at, head.place, head.id
     limit ?`,
    [
      [...tags],
      runUntagged,
      ...[list(projectIds), list(projectIds), list(except), list(except)],
      headMax,
      limit,
    ],
  );
  return rows;
}

const list = (ids: readonly string[] | undefined): string[] | null =>
  ids === undefined ? null : [...ids];
