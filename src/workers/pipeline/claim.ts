import { handleKept } from "../../commands/core/handle-kept.ts";
import { job, queuedFirst } from "../../commands/pipeline/job.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { RevisionConflict } from "../../platform/event-store/event-store.ts";
import { Refusal } from "../../platform/refusal.ts";
import { type QueuedJob, type QueueFilter, queuedJobs } from "../../projections/pipeline/queue.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import type { WorkerDeps } from "../core/deps.ts";

export type Claim = Readonly<{
  agentId: string;
  /** Which queued jobs fit the agent; see QueueFilter. */
  filter: Omit<QueueFilter, "limit" | "except">;
  /** Finds the jobs that fit; see queuedJobs, which it is unless given. */
  find?: (filter: QueueFilter) => Promise<readonly QueuedJob[]>;
  /** Called for each job before it is claimed: is its ref protected, does the agent have the features? */
  mayTake: (job: QueuedJob) => Promise<boolean>;
  /** SHA-256 of the token that the run will have, hex. A token is used for one claim only. */
  tokenHash: string;
}>;

/** As it was in the queue, and as it is now. */
export type ClaimedJob = QueuedJob;

/** A few are enough, but for an agent that may not take them. */
const [candidatesFirst, candidates] = [5, 20];

/** Ids of jobs that polls of this process claim now: of those that look at one moment, each tries another one. */
const claiming = new Set<string>();

/**
 * Gives the agent the next job that fits, and gives it to no other one: the append to the job's
 * stream decides, in any number of processes. Undefined when no job fits. The read models show the claim then.
 */
export async function claimNextJob(
  { db, store, now, visible }: Pick<WorkerDeps, "db" | "store" | "now" | "visible">,
  { agentId, filter, find = (wanted) => queuedJobs(db, wanted), mayTake, tokenHash }: Claim,
): Promise<ClaimedJob | undefined> {
  const lost: string[] = [];
  for (;;) {
    const queued = await find({
      ...filter,
      except: lost,
      limit: lost.length === 0 ? candidatesFirst : candidates,
    });
    if (queued.length === 0) return undefined;
    for (const each of queued) {
      const { id: jobId, pipeline_id: pipelineId, project_id: projectId, attempt } = each.job;
      lost.push(jobId);
      if (claiming.has(jobId) || !(await mayTake(each)) || claiming.has(jobId)) continue;
      const at = now().toISOString();
      const ids = { jobId, pipelineId, projectId, at };
      const command = { type: "ClaimJob", ...ids, agentId, attempt, tokenHash } as const;
      const commandId = deterministicId("claim", jobId, tokenHash);
      claiming.add(jobId);
      try {
        const order = { id: jobId, command, metadata: bySystem({ commandId }, at) };
        // The append is refused where more than that has happened to it.
        const { position } = await handleKept(store, job, order, queuedFirst);
        // Until then it is in the queue for others.
        await visible(position);
        return { ...each, job: assigned(each.job, { agentId, tokenHash, at }) };
      } catch (error) {
        const isTaken = error instanceof Refusal && error.code === "job.taken";
        if (!isTaken && !(error instanceof RevisionConflict)) throw error;
      } finally {
        claiming.delete(jobId);
      }
    }
  }
}

const assigned = (
  row: JobRow,
  { agentId, tokenHash, at }: Readonly<{ agentId: string; tokenHash: string; at: string }>,
): JobRow => ({
  ...row,
  status: "PENDING",
  queued: false,
  agent_id: agentId,
  token_hash: tokenHash,
  assigned_at: new Date(at),
});
