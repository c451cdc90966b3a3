import type { JobEvent } from "../../../src/events/pipeline/job.ts";
import { at } from "../app/history.ts";
import { agentId, jobIdOf, pipelineId, projectId, userId } from "./pipeline.ts";

/** What happens to the job `build`. */
export const ids = { jobId: jobIdOf("build"), pipelineId, projectId };
export const token = "a".repeat(64);

export const queued = (attempt = 1): JobEvent => ({
  type: "JobQueued",
  data: { ...ids, attempt, queuedAt: at },
});
export const assigned = (attempt = 1): JobEvent => ({
  type: "JobAssigned",
  data: { ...ids, attempt, agentId, tokenHash: token, assignedAt: at },
});
export const returned: JobEvent = {
  type: "JobReturned",
  data: { ...ids, attempt: 1, agentId, returnedAt: at },
};
export const started = (attempt = 1): JobEvent => ({
  type: "JobStarted",
  data: { ...ids, attempt, agentId, startedAt: at },
});
/** Given to the agent, by the token of this run. */
export const taken = (attempt = 1): JobEvent => ({
  type: "JobStarted",
  data: { ...ids, attempt, agentId, tokenHash: token, startedAt: at },
});
export const succeeded: JobEvent = {
  type: "JobSucceeded",
  data: { ...ids, attempt: 1, finishedAt: at },
};
export const failed = (change = {}): JobEvent => ({
  type: "JobFailed",
  data: {
    ...ids,
    attempt: 1,
    reason: "script_failure",
    exitCode: 1,
    allowed: false,
    finishedAt: at,
    ...change,
  },
});
export const canceled: JobEvent = {
  type: "JobCanceled",
  data: { ...ids, canceledById: userId, canceledAt: at },
};
export const reset = (resetById: typeof userId | null = null, more = {}): JobEvent => ({
  type: "JobReset",
  data: { ...ids, resetById, ...more, resetAt: at },
});
export const held: JobEvent = { type: "JobHeld", data: { ...ids, heldAt: at } };
export const skipped: JobEvent = { type: "JobSkipped", data: { ...ids, skippedAt: at } };
export const delayed: JobEvent = { type: "JobDelayed", data: { ...ids, until: at, delayedAt: at } };
export const played: JobEvent = {
  type: "JobPlayed",
  data: { ...ids, playedById: userId, variables: null, playedAt: at },
};
export const blocked = (reason: "NO_AGENT" | "RESOURCE_GROUP"): JobEvent => ({
  type: "JobBlocked",
  data: { ...ids, reason, blockedAt: at },
});
