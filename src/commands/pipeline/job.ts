import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import type { RunEnvironment } from "../../events/pipeline/environment.ts";
import type { JobId, PipelineId } from "../../events/pipeline/id.ts";
import {
  type JobEvent,
  type JobFailureReason,
  jobEvents,
  jobStatusAfter,
  jobStream,
} from "../../events/pipeline/job.ts";
import type { JobSpec } from "../../events/pipeline/job-spec.ts";
import { isFinished, type PipelineStatus } from "../../events/pipeline/status.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

/** The identity that every event of a job carries. */
export type JobIds = Readonly<{ jobId: JobId; pipelineId: PipelineId; projectId: ProjectId }>;

/**
 * What one agent says of the run it was given; `agentId` is null for the service itself. A run that was returned may be
 * given to the same agent again: the hash of its token shows which of them is meant, where it is known.
 */
type ByAgent = Readonly<{
  agentId: string | null;
  attempt: number;
  tokenHash?: string | null | undefined;
}>;

type Order = Readonly<
  | { type: "QueueJob"; environment?: RunEnvironment | undefined }
  /** Its turn has come, and it may not run. It is not tried again by itself. */
  | {
      type: "RefuseJob";
      reason: Extract<JobFailureReason, "environment_protected" | "unmet_prerequisites">;
      rules: Pick<JobSpec, "allowFailure">;
    }
  | { type: "HoldJob" | "SkipJob" }
  | { type: "DelayJob"; until: string }
  | { type: "BlockJob"; reason: "RESOURCE_GROUP" | "NO_AGENT" }
  | { type: "PlayJob"; by: UserId; variables: Sealed | null }
  /** Gives a job that was queued for this attempt to an agent: its run starts. @param tokenHash SHA-256 of the token of this run, hex */
  | { type: "ClaimJob"; agentId: string; attempt: number; tokenHash: string }
  /** The agent did not confirm the run within the time it has: another one may take the job. */
  | ({ type: "ReturnJob" } & ByAgent)
  | ({ type: "RecordJobStarted" } & ByAgent)
  | ({ type: "RecordJobSucceeded"; environmentUrl?: string | undefined } & ByAgent)
  | ({
      type: "RecordJobFailed";
      reason: JobFailureReason;
      /** See JobFailed. */
      message?: string | undefined;
      exitCode: number | null;
      /** As the job's file says. */
      rules: Pick<JobSpec, "allowFailure" | "retry">;
    } & ByAgent)
  /** `quietly`: nothing happens to a job that has ended, instead of a refusal. */
  | { type: "CancelJob"; by: UserId | null; quietly: boolean }
  /** `release`: a manual or delayed job of which the user requests another run; see JobReset. */
  | { type: "ResetJob"; by: UserId | null; quietly: boolean; release?: boolean }
  | { type: "RecordJobTriggered"; childPipelineId: PipelineId }
>;
export type JobCommand = Order & JobIds & Readonly<{ at: string }>;

export type JobState = Readonly<{
  status: PipelineStatus;
  /** Of the last run that was queued; 0 before the first. */
  attempt: number;
  /** An agent may take it now. */
  queued: boolean;
  agentId: string | null;
  tokenHash: string | null;
  /** Waits for its time. */
  delayed: boolean;
  /** A user has started it, or its time has come. */
  released: boolean;
  /** Failures since a user last restarted it. */
  failures: number;
  childPipelineId: PipelineId | null;
}>;

const initialState: JobState = {
  status: "CREATED",
  attempt: 0,
  queued: false,
  agentId: null,
  tokenHash: null,
  delayed: false,
  released: false,
  failures: 0,
  childPipelineId: null,
};

/** One run of a job, given to one agent at a time. */
export const job: Slice<JobState, JobCommand, typeof jobEvents> = {
  events: jobEvents,
  stream: jobStream,
  initialState,
  decide(state, command) {
    const { jobId, pipelineId, projectId, at } = command;
    const job = { jobId, pipelineId, projectId };
    switch (command.type) {
      case "QueueJob":
      case "RefuseJob":
        return takeTurn(state, command, job);
      case "HoldJob":
        if (!isNew(state)) return [];
        return [{ type: "JobHeld", data: { ...job, heldAt: at } }];
      case "SkipJob":
        if (!isNew(state)) return [];
        return [{ type: "JobSkipped", data: { ...job, skippedAt: at } }];
      case "DelayJob":
        if (!isNew(state)) return [];
        return [{ type: "JobDelayed", data: { ...job, until: command.until, delayedAt: at } }];
      case "BlockJob":
        return block(state, command, job);
      case "PlayJob": {
        if (state.status !== "MANUAL" && !state.delayed) {
          const message = "Only a manual or delayed job that waits can be started.";
          throw new Refusal("unprocessable", "job.not_playable", message);
        }
        const { by: playedById, variables } = command;
        return [{ type: "JobPlayed", data: { ...job, playedById, variables, playedAt: at } }];
      }
      case "ClaimJob":
        return claim(state, command, job);
      case "ReturnJob":
        if (!isAssignedTo(state, command)) return [];
        return [
          {
            type: "JobReturned",
            data: { ...job, attempt: state.attempt, agentId: state.agentId, returnedAt: at },
          },
        ];
      case "RecordJobStarted":
      case "RecordJobSucceeded":
      case "RecordJobFailed":
        return report(state, command, job);
      case "CancelJob":
        if (isFinished(state.status)) return command.quietly ? [] : alreadyFinished();
        return [
          { type: "JobCanceled", data: { ...job, canceledById: command.by, canceledAt: at } },
        ];
      case "ResetJob":
        if (!isFinished(state.status)) {
          if (command.quietly) return [];
          throw new Refusal("unprocessable", "job.not_finished", "The job has not ended yet.");
        }
        // The turn of a job that was skipped has not come.
        return [reset(job, command, command.release === true && state.status !== "SKIPPED")];
      case "RecordJobTriggered": {
        if (state.childPipelineId !== null) return [];
        const { childPipelineId } = command;
        return [{ type: "JobTriggered", data: { ...job, childPipelineId, triggeredAt: at } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    const next = { ...state, status: jobStatusAfter(event) ?? state.status };
    switch (event.type) {
      case "JobQueued": {
        const { attempt } = event.data;
        const released = state.released || state.delayed;
        const run = { attempt, queued: true, agentId: null, tokenHash: null };
        return { ...next, ...run, released, delayed: false };
      }
      case "JobAssigned": {
        const { agentId, tokenHash } = event.data;
        return { ...next, queued: false, agentId, tokenHash };
      }
      case "JobReturned":
        return { ...next, queued: true, agentId: null, tokenHash: null };
      case "JobStarted": {
        const { agentId, attempt, tokenHash = state.tokenHash } = event.data;
        return { ...next, queued: false, agentId, attempt, tokenHash };
      }
      case "JobDelayed":
        return { ...next, delayed: true };
      case "JobPlayed":
        return { ...next, delayed: false, released: true };
      case "JobFailed":
        return { ...next, failures: state.failures + 1, queued: false };
      case "JobCanceled":
      case "JobSkipped":
        return { ...next, queued: false, delayed: false };
      case "JobReset": {
        const { resetById, released = false } = event.data;
        const failures = resetById === null ? state.failures : 0;
        return { ...initialState, attempt: state.attempt, failures, released };
      }
      case "JobTriggered":
        return { ...next, childPipelineId: event.data.childPipelineId };
      case "JobHeld":
      case "JobBlocked":
      case "JobSucceeded":
        return next;
      default:
        return unreachable(event);
    }
  },
};

type Of<Type extends JobCommand["type"]> = Extract<JobCommand, { type: Type }>;

/** Its turn has not come, or not been noticed. */
const isNew = ({ status, delayed, released }: JobState): boolean =>
  status === "CREATED" && !delayed && !released;

const isWaiting = ({ status, queued }: JobState): boolean =>
  (status === "CREATED" || status === "WAITING_FOR_RESOURCE") && !queued;

function reset(
  job: JobIds,
  { by: resetById, at: resetAt }: Readonly<{ by: UserId | null; at: string }>,
  released: boolean,
): JobEvent {
  const again = released ? { released } : {};
  return { type: "JobReset", data: { ...job, resetById, ...again, resetAt } };
}

function takeTurn(
  state: JobState,
  command: Of<"QueueJob" | "RefuseJob">,
  job: JobIds,
): readonly JobEvent[] {
  if (!isWaiting(state)) return [];
  const run = { ...job, attempt: state.attempt + 1 };
  if (command.type === "QueueJob") {
    const { environment, at: queuedAt } = command;
    return [{ type: "JobQueued", data: { ...run, ...(environment && { environment }), queuedAt } }];
  }
  const { reason, rules, at: finishedAt } = command;
  const { always: allowed } = rules.allowFailure;
  return [{ type: "JobFailed", data: { ...run, reason, exitCode: null, allowed, finishedAt } }];
}

function block(state: JobState, { reason, at }: Of<"BlockJob">, job: JobIds): readonly JobEvent[] {
  const mayBlock = reason === "NO_AGENT" ? state.queued : state.status === "CREATED";
  if (!mayBlock || state.status === "WAITING_FOR_RESOURCE") return [];
  return [{ type: "JobBlocked", data: { ...job, reason, blockedAt: at } }];
}

function claim(
  state: JobState,
  { agentId, attempt, tokenHash, at }: Of<"ClaimJob">,
  job: JobIds,
): readonly JobEvent[] {
  if (state.tokenHash === tokenHash && state.agentId === agentId) return [];
  // A later attempt is another run: what the agent would be given belongs to this one.
  if (!state.queued || state.attempt !== attempt) {
    throw new Refusal("conflict", "job.taken", "The job is taken by another agent, or over.");
  }
  return [{ type: "JobStarted", data: { ...job, attempt, agentId, tokenHash, startedAt: at } }];
}

function report(
  state: JobState,
  command: Of<"RecordJobStarted" | "RecordJobSucceeded" | "RecordJobFailed">,
  job: JobIds,
): readonly JobEvent[] {
  const { agentId, attempt, at } = command;
  if (isFinished(state.status) && state.attempt === attempt) return alreadyFinished();
  if (command.type === "RecordJobStarted") {
    if (state.status === "RUNNING" && isOfRun(state, command)) return [];
    const isAssigned = isAssignedTo(state, command) && state.status !== "RUNNING";
    const mayStart = agentId === null ? state.queued : isAssigned;
    if (!mayStart) return notYours();
    return [
      { type: "JobStarted", data: { ...job, attempt: state.attempt, agentId, startedAt: at } },
    ];
  }
  const isStuck = agentId === null && state.queued && state.attempt === attempt;
  if (isStuck && command.type === "RecordJobFailed") return fail(state, command, job);
  if (state.status !== "RUNNING" || !isOfRun(state, command)) return notYours();
  if (command.type === "RecordJobSucceeded") {
    const { environmentUrl: url } = command;
    const known = url === undefined ? {} : { environmentUrl: url };
    return [{ type: "JobSucceeded", data: { ...job, attempt, ...known, finishedAt: at } }];
  }
  return fail(state, command, job);
}

/** Reasons that are taken for another one where the file says what to try again. */
const alsoRunnerFailures: ReadonlySet<JobFailureReason> = new Set([
  "runner_interrupted",
  "image_pull_failure",
  "runner_external_dependency_failure",
]);

function fail(state: JobState, command: Of<"RecordJobFailed">, job: JobIds): readonly JobEvent[] {
  const { attempt, reason, message, exitCode, rules, at: finishedAt } = command;
  const { allowFailure, retry } = rules;
  const allowed =
    allowFailure.always || (exitCode !== null && allowFailure.exitCodes.includes(exitCode));
  const why = message === undefined ? { reason } : { reason, message };
  const failed: JobEvent = {
    type: "JobFailed",
    data: { ...job, attempt, ...why, exitCode, allowed, finishedAt },
  };
  const isNamed =
    retry.when.includes("always") ||
    retry.when.includes(reason) ||
    (retry.when.includes("runner_system_failure") && alsoRunnerFailures.has(reason)) ||
    (exitCode !== null && retry.exitCodes.includes(exitCode));
  if (!isNamed || state.failures >= retry.max) return [failed];
  return [failed, reset(job, { by: null, at: finishedAt }, state.released)];
}

type AssignedJob = JobState & Readonly<{ agentId: string }>;

const isOfRun = (state: JobState, { agentId, attempt, tokenHash = null }: ByAgent): boolean =>
  state.agentId === agentId &&
  state.attempt === attempt &&
  (tokenHash === null || state.tokenHash === tokenHash);

/** Its run has not ended. Until 2026-11-26 it started when the agent confirmed it, so it may not have started either. */
function isAssignedTo(state: JobState, agentRun: ByAgent): state is AssignedJob {
  const isHis = state.agentId !== null && isOfRun(state, agentRun);
  const goesOn = ["PENDING", "WAITING_FOR_RESOURCE", "RUNNING"].includes(state.status);
  return isHis && goesOn && !state.queued;
}

function alreadyFinished(): never {
  throw new Refusal("unprocessable", "job.finished", "The job has ended.");
}

function notYours(): never {
  throw new Refusal("forbidden", "job.not_yours", "This run of the job is not this agent's.");
}

export function jobNotFound(): Refusal {
  return new Refusal("not_found", "job.not_found", "Job not found.");
}
