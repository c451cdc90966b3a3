import type { Recorded } from "../../events/core/event.ts";
import { type JobEvent, jobStatusAfter } from "../../events/pipeline/job.ts";
import { announce, type Change, change } from "../core/change.ts";
import { refreshStart, refreshStatus } from "./refresh.ts";
import { type JobRow, jobs } from "./table.ts";

/** Of a run that is over, or not begun. */
const noRun = { queued: false, token_hash: null } as const;

/** A run that has not begun. */
const freshRun = {
  ...noRun,
  environment_name: null,
  agent_id: null,
  block_reason: null,
  delayed_until: null,
  failure_reason: null,
  failure_message: null,
  exit_code: null,
  queued_at: null,
  assigned_at: null,
  started_at: null,
  finished_at: null,
} as const;

/** A job that has not begun. */
const fresh = { ...freshRun, child_pipeline_id: null } as const;

/** A job that no user has started by hand. */
const unreleased = { released: false, played_by_id: null, variables: null } as const;

/** Of a job, and of what follows for its pipeline. */
export function jobChanges(event: Recorded<JobEvent>): readonly Change[] {
  const { jobId: id, pipelineId } = event.data;
  const status = jobStatusAfter(event);
  const changed = change(jobs, { id }, { ...changeOf(event), ...(status && { status }) });
  switch (event.type) {
    // It stays pending, so its pipeline shows what it did.
    case "JobAssigned":
      return [changed];
    case "JobStarted":
    case "JobReset":
      return [changed, refreshStatus(pipelineId), refreshStart(pipelineId)];
    case "JobQueued":
    case "JobReturned":
      return [changed, refreshStatus(pipelineId), refreshStart(pipelineId), announce("jobs")];
    default:
      return [changed, refreshStatus(pipelineId)];
  }
}

function changeOf(event: JobEvent): Partial<JobRow> {
  switch (event.type) {
    case "JobQueued": {
      const { attempt, environment, queuedAt } = event.data;
      const environment_name = environment?.name ?? null;
      const queued = { queued: true, queued_at: new Date(queuedAt) };
      return { ...freshRun, attempt, environment_name, ...queued };
    }
    case "JobHeld":
      return { block_reason: null };
    case "JobDelayed":
      return { delayed_until: new Date(event.data.until) };
    case "JobBlocked":
      return { block_reason: event.data.reason };
    case "JobPlayed": {
      const { playedById: played_by_id, variables } = event.data;
      return { released: true, delayed_until: null, played_by_id, variables };
    }
    case "JobAssigned": {
      const { agentId: agent_id, tokenHash: token_hash, assignedAt } = event.data;
      return { queued: false, agent_id, token_hash, assigned_at: new Date(assignedAt) };
    }
    case "JobReturned":
      return { ...noRun, queued: true, agent_id: null, assigned_at: null, started_at: null };
    case "JobStarted": {
      const { agentId: agent_id, tokenHash: token_hash, startedAt } = event.data;
      const started_at = new Date(startedAt);
      const begun = { queued: false, block_reason: null, agent_id, started_at };
      return token_hash === undefined ? begun : { ...begun, token_hash, assigned_at: started_at };
    }
    case "JobSucceeded":
      return { ...noRun, finished_at: new Date(event.data.finishedAt) };
    case "JobFailed": {
      const { reason, message = null, exitCode: exit_code, finishedAt } = event.data;
      const failure = { failure_reason: reason, failure_message: message, exit_code };
      return { ...noRun, ...failure, finished_at: new Date(finishedAt) };
    }
    case "JobCanceled":
      return { ...noRun, finished_at: new Date(event.data.canceledAt) };
    case "JobSkipped":
      return { ...noRun };
    case "JobReset": {
      const { resetById: reset_by_id, released = false } = event.data;
      const again = { ...fresh, ...(released ? { released } : unreleased) };
      if (reset_by_id === null) return again;
      // The next run has the rights of who requested it, not those of who started the one before.
      return { ...again, reset_by_id, played_by_id: null };
    }
    case "JobTriggered":
      return { child_pipeline_id: event.data.childPipelineId };
  }
}
