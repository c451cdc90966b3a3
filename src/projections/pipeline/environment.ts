import { LRUCache } from "lru-cache";

import type { EventOf, Recorded } from "../../events/core/event.ts";
import { environmentEvents, type RunEnvironment } from "../../events/pipeline/environment.ts";
import { type JobEvent, jobEvents } from "../../events/pipeline/job.ts";
import type { PipelineStatus } from "../../events/pipeline/status.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { purgeEvents } from "../core/purge.ts";
import { Writes } from "../core/writes.ts";
import {
  createEnvironmentTables,
  type DeploymentRow,
  deployments,
  environments,
  environmentTables,
  openStatuses,
} from "./environment-table.ts";

const { JobQueued, JobReturned, JobStarted, JobSucceeded, JobFailed, JobCanceled } = jobEvents;
const ended = { JobSucceeded, JobFailed, JobCanceled };
const runEvents = { JobQueued, JobReturned, JobStarted, ...ended };
const events = { ...runEvents, ...environmentEvents, ...purgeEvents };
type Handled = Recorded<EventOf<typeof events>>;
type RunEvent = Extract<JobEvent, { type: keyof typeof runEvents }>;

/** Environments and the runs of jobs that are for them: what was deployed where, when, by whom. */
export const environmentProjection = defineProjection({
  name: "environment",
  version: 4,
  tables: environmentTables,
  create: createEnvironmentTables,
  events,
  handlers: {
    JobQueued: one,
    JobReturned: one,
    JobStarted: one,
    JobSucceeded: one,
    JobFailed: one,
    JobCanceled: one,
    EnvironmentStopped: one,
    EnvironmentDeleted: one,
    ProjectPurged: one,
  },
  applyAll: apply,
  // A few runs of which nothing is known are cheaper to look for than to query.
  statements: async (db, batch) => {
    const rows = new Writes(db);
    collect(rows, batch, ({ jobId, attempt }) => !isForNone.has(runKey(jobId, attempt)));
    return rows.statements();
  },
});

const runsMax = 5_000;
/** Runs that were queued for no environment, as their events say: those that follow change nothing here. */
const isForNone = new LRUCache<string, true>({ max: runsMax });
/** A job that was canceled names no attempt. */
const runKey = (jobId: string, attempt: number | undefined): string => `${jobId} ${attempt}`;

async function one(tx: Tx, event: Handled): Promise<void> {
  const rows = new Writes(tx);
  collect(rows, [event], () => true);
  await rows.written();
}

const isOfRun = (event: Handled): event is Extract<Handled, RunEvent> => event.type in runEvents;

/** Most jobs are for no environment: one look for a batch finds those that are. */
async function apply(tx: Tx, batch: readonly Handled[]): Promise<void> {
  const runs = batch.filter(isOfRun);
  const jobIds = [...new Set(runs.map(({ data }) => data.jobId as string))];
  const known = new Set<string>(jobIds.length === 0 ? [] : await deploying(tx, jobIds));
  for (const event of runs) {
    if (event.type === "JobQueued" && event.data.environment !== undefined) {
      known.add(event.data.jobId);
    }
  }
  const rows = new Writes(tx);
  collect(rows, batch, ({ jobId }) => known.has(jobId));
  await rows.written();
}

function collect(
  rows: Writes,
  batch: readonly Handled[],
  mayDeploy: (run: Readonly<{ jobId: string; attempt?: number }>) => boolean,
): void {
  for (const event of batch) {
    if (!isOfRun(event)) applyToEnvironment(rows, event);
    else if (event.type === "JobQueued") {
      const { jobId, attempt, environment } = event.data;
      if (environment === undefined) isForNone.set(runKey(jobId, attempt), true);
      else {
        isForNone.delete(runKey(jobId, attempt));
        queue(rows, event.data, environment);
      }
    } else if (mayDeploy(event.data)) applyToRun(rows, event);
  }
}

/** Those of the jobs that have a run which is for an environment. */
async function deploying(tx: Tx, jobIds: readonly string[]): Promise<readonly string[]> {
  const runs = tx("deployment").distinct().pluck("job_id");
  // Nearly always one, for which Postgres keeps a plan; it makes one anew for each list.
  if (jobIds.length === 1) return runs.where({ job_id: jobIds[0] });
  return runs.whereRaw("job_id = any(?)", [[...jobIds]]);
}

function applyToEnvironment(rows: Writes, { type, data }: Exclude<Handled, RunEvent>): void {
  switch (type) {
    case "EnvironmentStopped": {
      const stopped = { state: "STOPPED", auto_stop_at: null } as const;
      const updated_at = new Date(data.stoppedAt);
      rows.change(environments, { id: data.environmentId }, { ...stopped, updated_at });
      return;
    }
    case "EnvironmentDeleted":
      forget(rows, data.environmentId, data.deletedAt);
      return;
    case "ProjectPurged": {
      const { projectId: project_id } = data;
      for (const table of environmentTables) {
        rows.run((db) => db(table).where({ project_id }).delete());
      }
      return;
    }
  }
}

/**
 * Deletes the deployments that have ended. A run that was queued while the environment was deleted creates it
 * anew: it is as after the first run that is for it.
 */
function forget(rows: Writes, id: string, at: string): void {
  rows.run((db) =>
    db("deployment").where({ environment_id: id }).whereNotIn("status", openStatuses).delete(),
  );
  rows.run((db) =>
    db("environment")
      .where({ id })
      .whereNotExists(db("deployment").where({ environment_id: id }).select(db.raw("1")))
      .delete(),
  );
  rows.run((db) =>
    db.raw(
      `update deployment set number = numbered.place
       from (select job_id, attempt, row_number() over (order by number)::int as place
             from deployment where environment_id = ? and number is not null) as numbered
       where deployment.job_id = numbered.job_id and deployment.attempt = numbered.attempt`,
      [id],
    ),
  );
  const numbered =
    "(select count(number)::int from deployment where environment_id = environment.id)";
  rows.run((db) =>
    db("environment")
      .where({ id })
      .update({ state: "AVAILABLE", deployments: db.raw(numbered), ...fresh, updated_at: at }),
  );
}

/** Of an environment that was not deployed to. */
const fresh = { last_number: null, ref: null, is_tag: null, on_stop: null, auto_stop_at: null };

type Data<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>["data"];

function queue(
  rows: Writes,
  { jobId: job_id, pipelineId: pipeline_id, projectId, attempt, queuedAt }: Data<"JobQueued">,
  environment: RunEnvironment,
): void {
  const { environmentId: id, name, tier, url, action, onStop: on_stop } = environment;
  const at = new Date(queuedAt);
  const times = { created_at: at, updated_at: at };
  const project_id = projectId;
  const made = { id, project_id, name, tier, state: "AVAILABLE", url, deployments: 0, ...times };
  rows.run((db) => db("environment").insert(made).onConflict("id").ignore());
  if (action === "stop") {
    const stopping = { state: "STOPPING" };
    rows.run((db) => db("environment").where({ id, state: "AVAILABLE" }).update(stopping));
  }
  const state = { status: "PENDING", created_at: at, started_at: null, finished_at: null };
  const run = {
    ...{ job_id, attempt, environment_id: id, project_id, pipeline_id, action, tier, url, on_stop },
    ref: environment.ref,
    is_tag: environment.isTag,
    commit_id: environment.commitId,
    user_id: environment.userId,
    auto_stop_seconds: environment.autoStopInSeconds,
    ...state,
  };
  rows.run((db) =>
    db("deployment").insert(run).onConflict(["job_id", "attempt"]).merge(Object.keys(state)),
  );
  if (action === "start") numberDeployment(rows, id, run);
}

/** Delivered again, it keeps its number. */
function numberDeployment(
  rows: Writes,
  id: string,
  { job_id, attempt }: Pick<DeploymentRow, "job_id" | "attempt">,
): void {
  rows.run((db) =>
    db.raw(
      `with counted as (
         update environment set deployments = deployments + 1
         where id = :id and exists (
           select from deployment
           where job_id = :job_id and attempt = :attempt and number is null)
         returning deployments
       )
       update deployment set number = counted.deployments
       from counted where job_id = :job_id and attempt = :attempt`,
      { id, job_id, attempt },
    ),
  );
}

function applyToRun(rows: Writes, { type, data }: Exclude<RunEvent, { type: "JobQueued" }>): void {
  switch (type) {
    case "JobStarted": {
      const { jobId: job_id, attempt, startedAt } = data;
      const started = { status: "RUNNING", started_at: new Date(startedAt) } as const;
      rows.change(deployments, { job_id, attempt }, started);
      return;
    }
    case "JobReturned": {
      const { jobId: job_id, attempt } = data;
      rows.change(deployments, { job_id, attempt }, { status: "PENDING", started_at: null });
      return;
    }
    case "JobSucceeded":
      succeed(rows, data);
      return;
    case "JobFailed":
      end(rows, data, data.allowed ? "WARNING" : "FAILED", data.finishedAt);
      return;
    case "JobCanceled":
      end(rows, data, "CANCELED", data.canceledAt);
      return;
  }
}

function succeed(
  rows: Writes,
  { jobId: job_id, attempt, environmentUrl: url, finishedAt: at }: Data<"JobSucceeded">,
): void {
  rows.run((db) =>
    db.raw(
      `with ended as (
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
         and ended.action <> 'stop' and ended.number is not null`,
      { job_id, attempt, url: url ?? null, at },
    ),
  );
}

/**
 * A job that was canceled names no attempt: its run that goes on is meant. Where it was to stop the environment, that
 * is there; the job is not tried again by itself.
 */
function end(
  rows: Writes,
  { jobId: job_id, attempt }: Readonly<{ jobId: string; attempt?: number }>,
  status: PipelineStatus,
  at: string,
): void {
  rows.run((db) =>
    db.raw(
      `with ended as (
         update deployment set status = :status, finished_at = :at
         where job_id = :job_id and ${attempt === undefined ? "status = any(:open)" : "attempt = :attempt"}
         returning environment_id, action
       )
       update environment set state = 'AVAILABLE', auto_stop_at = null
       from ended where environment.id = ended.environment_id and ended.action = 'stop'
         and environment.state = 'STOPPING'`,
      {
        job_id,
        status,
        at,
        ...(attempt === undefined ? { open: [...openStatuses] } : { attempt }),
      },
    ),
  );
}
