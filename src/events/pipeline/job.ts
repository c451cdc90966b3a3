import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";
import { RunEnvironment } from "./environment.ts";
import { JobId, PipelineId } from "./id.ts";
import type { PipelineStatus } from "./status.ts";

/** Why a job failed: what agents report, and what the service finds. */
export const JobFailureReason = z.enum([
  "script_failure",
  "runner_system_failure",
  "job_execution_timeout",
  "image_pull_failure",
  "runner_external_dependency_failure",
  "runner_configuration_error",
  "runner_interrupted",
  "job_canceled",
  "unknown_failure",
  "api_failure",
  "stuck_or_timeout_failure",
  "runner_unsupported",
  "stale_schedule",
  "archived_failure",
  "unmet_prerequisites",
  "scheduler_failure",
  "data_integrity_failure",
  "missing_dependency_failure",
  "trace_size_exceeded",
  "environment_protected",
  "downstream_pipeline_failure",
  "release_failed",
]);
export type JobFailureReason = z.output<typeof JobFailureReason>;

/** Every event of a job says where it belongs, so that a reader needs no other one. */
const Job = z.object({ jobId: JobId, pipelineId: PipelineId, projectId: ProjectId });
/** Runs of a job are counted from 1; an agent speaks of one of them only. */
const Run = Job.extend({ attempt: z.int().positive() });

/**
 * What happens to one job after it was planned with its pipeline. The stream of a job is empty until
 * the job's turn has come.
 */
export const jobEvents = {
  /** An agent may take it. */
  JobQueued: Run.extend({
    /** Left out for a job without one. */
    environment: RunEnvironment.optional(),
    queuedAt: IsoInstant,
  }),
  /** Its turn has come; it waits for a user to start it. */
  JobHeld: Job.extend({ heldAt: IsoInstant }),
  /** Its turn has come; it is queued at that time. */
  JobDelayed: Job.extend({ until: IsoInstant, delayedAt: IsoInstant }),
  /** Another job of its resource group runs, or no agent fits. */
  JobBlocked: Job.extend({ reason: z.enum(["RESOURCE_GROUP", "NO_AGENT"]), blockedAt: IsoInstant }),
  /** A user started a manual or delayed job. */
  JobPlayed: Job.extend({
    playedById: UserId,
    /** JSON text of the variables given with it: an object. Null for none. */
    variables: Sealed.nullable(),
    playedAt: IsoInstant,
  }),
  /** Until 2026-11-26: handed to an agent, which had not confirmed it yet. JobStarted followed when it did. */
  JobAssigned: Run.extend({
    agentId: z.uuid(),
    /** SHA-256 of the job's token, hex. */
    tokenHash: z.string(),
    assignedAt: IsoInstant,
  }),
  /** The agent did not confirm it, so it has not run: another one may take it, and the token is dead. */
  JobReturned: Run.extend({ agentId: z.uuid(), returnedAt: IsoInstant }),
  /** Handed to an agent. `agentId` is null for a job that the service itself carries out. */
  JobStarted: Run.extend({
    agentId: z.uuid().nullable(),
    /** SHA-256 of the job's token, hex. Left out without an agent, and where JobAssigned gives it. */
    tokenHash: z.string().optional(),
    startedAt: IsoInstant,
  }),
  JobSucceeded: Run.extend({
    /** Of its environment, where the job's own report says more of it than was known before. */
    environmentUrl: z.string().optional(),
    finishedAt: IsoInstant,
  }),
  JobFailed: Run.extend({
    reason: JobFailureReason,
    /** More than the reason says; for everybody who may read the job. */
    message: z.string().optional(),
    exitCode: z.int().nullable(),
    /** The file allows it: the job is a warning. */
    allowed: z.boolean(),
    finishedAt: IsoInstant,
  }),
  JobCanceled: Job.extend({
    /** Null: by the service. */
    canceledById: UserId.nullable(),
    canceledAt: IsoInstant,
  }),
  /** What it waits for failed, or it is for failures and there was none. */
  JobSkipped: Job.extend({ skippedAt: IsoInstant }),
  /** It is as if planned anew; what it did before stays known by its attempt. */
  JobReset: Job.extend({
    /** Null: the file says to try again, or what it waits for is run again. */
    resetById: UserId.nullable(),
    /** A manual or delayed job: it begins at once, with what it was given when it was started by hand. */
    released: z.boolean().optional(),
    resetAt: IsoInstant,
  }),
  /** The pipeline that a trigger job started. */
  JobTriggered: Job.extend({ childPipelineId: PipelineId, triggeredAt: IsoInstant }),
} as const satisfies EventSchemas;

export type JobEvent = EventOf<typeof jobEvents>;

export const jobStream = (id: string): string => streamName("job", id);

/** The status that an event leaves its job in; undefined for one that says nothing about it. */
export function jobStatusAfter(event: JobEvent): PipelineStatus | undefined {
  switch (event.type) {
    case "JobQueued":
    case "JobAssigned":
    case "JobReturned":
      return "PENDING";
    case "JobHeld":
      return "MANUAL";
    case "JobDelayed":
    case "JobPlayed":
    case "JobReset":
      return "CREATED";
    case "JobBlocked":
      return "WAITING_FOR_RESOURCE";
    case "JobStarted":
      return "RUNNING";
    case "JobSucceeded":
      return "SUCCESS";
    case "JobFailed":
      return event.data.allowed ? "WARNING" : "FAILED";
    case "JobCanceled":
      return "CANCELED";
    case "JobSkipped":
      return "SKIPPED";
    case "JobTriggered":
      return undefined;
  }
}
