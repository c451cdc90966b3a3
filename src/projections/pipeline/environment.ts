import type { EventOf } from "../../events/core/event.ts";
import type { UserId } from "../../events/core/ids.ts";
import { environmentEvents, type RunEnvironment } from "../../events/pipeline/environment.ts";
import { jobEvents } from "../../events/pipeline/job.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { type Change, change, put, statement } from "../core/change.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { deployments, environments, openStatuses } from "./environment-table.ts";

const { JobQueued, JobReturned, JobStarted, JobSucceeded, JobFailed, JobCanceled } = jobEvents;
const runEvents = { JobQueued, JobReturned, JobStarted, JobSucceeded, JobFailed, JobCanceled };

type Data<Type extends keyof typeof runEvents> = EventOf<Pick<typeof runEvents, Type>>["data"];

/** Environments and the runs of jobs that are for them: what was deployed where, when, by whom. */
export const environmentProjection = defineReadModel({
  name: "environment",
  version: 5,
  tables: [environments, deployments],
  events: { ...runEvents, ...environmentEvents, ...purgeEvents },
  // Most jobs are for no environment: what happens to their runs finds no row.
  effects: {
    JobQueued: ({ data }) => (data.environment === undefined ? [] : queued(data, data.environment)),
    JobStarted: ({ data: { jobId: job_id, attempt, startedAt } }) =>
      change(
        deployments,
        { job_id, attempt },
        { status: "RUNNING", started_at: new Date(startedAt) },
      ),
    JobReturned: ({ data: { jobId: job_id, attempt } }) =>
      change(deployments, { job_id, attempt }, { status: "PENDING", started_at: null }),
    JobSucceeded: ({
      data: { jobId: job_id, attempt, environmentUrl: url = null, finishedAt: at },
    }) => statement(succeed, { job_id, attempt, url, at }),
    JobFailed: ({ data: { jobId, attempt, allowed, finishedAt } }) =>
      ended({ jobId, attempt }, allowed ? "WARNING" : "FAILED", finishedAt),
    JobCanceled: ({ data: { jobId, canceledAt } }) => ended({ jobId }, "CANCELED", canceledAt),
    EnvironmentStopped: ({ data: { environmentId: id, stoppedAt } }) =>
      change(
        environments,
        { id },
        { state: "STOPPED", auto_stop_at: null, updated_at: new Date(stoppedAt) },
      ),
    EnvironmentDeleted: ({ data: { environmentId: id, deletedAt: at } }) => [
      statement(dropEnded, { id, open: [...openStatuses] }),
      statement(dropEmpty, { id }),
      statement(renumber, { id }),
      statement(renew, { id, at }),
    ],
    ProjectPurged: purgedFrom(environments, deployments),
  },
});

/**
 * A deleted environment loses the deployments that have ended. A run that was queued while it was deleted creates it
 * anew: it is as after the first run that is for it.
 */
const dropEnded =
  "delete from deployment where environment_id = :id and status <> all(:open::text[])";
const dropEmpty = `
  delete from environment where id = :id
    and not exists (select from deployment where environment_id = :id)`;
const renumber = `
  update deployment set number = numbered.place
  from (select job_id, attempt, row_number() over (order by number)::int as place
        from deployment where environment_id = :id and number is not null) as numbered
  where deployment.job_id = numbered.job_id and deployment.attempt = numbered.attempt`;
const renew = `
  update environment set state = 'AVAILABLE', updated_at = :at,
    deployments = (select count(number)::int from deployment where environment_id = environment.id),
    last_number = null, ref = null, is_tag = null, on_stop = null, auto_stop_at = null
  where id = :id`;

function queued(
  { jobId: job_id, pipelineId: pipeline_id, projectId, attempt, queuedAt }: Data<"JobQueued">,
  environment: RunEnvironment,
): readonly Change[] {
  const { environmentId: id, name, tier, url, action, onStop: on_stop } = environment;
  const at = new Date(queuedAt);
  const project_id = projectId;
  const initial = { state: "AVAILABLE", deployments: 0, created_at: at, updated_at: at } as const;
  const run = {
    ...{ job_id, attempt, environment_id: id, project_id, pipeline_id, action, tier, url, on_stop },
    ref: environment.ref,
    is_tag: environment.isTag,
    commit_id: environment.commitId,
    user_id: environment.userId as UserId | null,
    auto_stop_seconds: environment.autoStopInSeconds,
    ...({ status: "PENDING", created_at: at, started_at: null, finished_at: null } as const),
  };
  return [
    put(environments, { id, project_id, name, tier, url, ...initial }),
    ...(action === "stop" ? [statement(stopping, { id })] : []),
    put(deployments, run),
    ...(action === "start" ? [statement(numberRun, { id, job_id, attempt })] : []),
  ];
}

const stopping = "update environment set state = 'STOPPING' where id = :id and state = 'AVAILABLE'";

/** A run that deploys gets the next number of its environment; delivered again, it keeps its number. */
const numberRun = `
  with counted as (
    update environment set deployments = deployments + 1
    where id = :id and exists (
      select from deployment where job_id = :job_id and attempt = :attempt and number is null)
    returning deployments
  )
  update deployment set number = counted.deployments
  from counted where job_id = :job_id and attempt = :attempt`;

/** The environment is as the run leaves it. */
const succeed = `
  with ended as (
    update deployment set status = 'SUCCESS', finished_at = :at, url = coalesce(:url, url)
    where job_id = :job_id and attempt = :attempt
    returning *
  ), stopped as (
    update environment set state = 'STOPPED', auto_stop_at = null, updated_at = :at
    from ended where environment.id = ended.environment_id and ended.action = 'stop'
  )
  update environment set state = 'AVAILABLE', last_number = ended.number, ref = ended.ref,
    is_tag = ended.is_tag, on_stop = ended.on_stop, tier = ended.tier, url = ended.url,
    auto_stop_at = :at::timestamptz + ended.auto_stop_seconds * interval '1 second',
    updated_at = :at
  from ended where environment.id = ended.environment_id
    and ended.action <> 'stop' and ended.number is not null`;

/**
 * A job that was canceled names no attempt: its run that goes on is meant. Where it was to stop the environment, that
 * is there; the job is not tried again by itself.
 */
const ended = (
  { jobId: job_id, attempt }: Readonly<{ jobId: string; attempt?: number }>,
  status: PipelineStatus,
  at: string,
): Change =>
  statement(
    `with ended as (
       update deployment set status = :status, finished_at = :at
       where job_id = :job_id and ${attempt === undefined ? "status = any(:open)" : "attempt = :attempt"}
       returning environment_id, action
     )
     update environment set state = 'AVAILABLE', auto_stop_at = null
     from ended where environment.id = ended.environment_id and ended.action = 'stop'
       and environment.state = 'STOPPING'`,
    { job_id, status, at, ...(attempt === undefined ? { open: [...openStatuses] } : { attempt }) },
  );
