import { handleKept } from "../../commands/core/handle-kept.ts";
import { job } from "../../commands/pipeline/job.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { RevisionConflict } from "../../platform/event-store/event-store.ts";
import { Refusal } from "../../platform/refusal.ts";
import { type QueuedJob, type QueueFilter, queuedJobs } from "../../projections/pipeline/queue.ts";
import type { WorkerDeps } from "../core/deps.ts";

export type Claim = Readonly<{
  agentId: string;
  /** Which queued jobs fit the agent; see QueueFilter. */
  filter: Omit<QueueFilter, "limit" | "except">;
  /** Called for each job before it is claimed: is its ref protected, does the agent have the features? */
  mayTake: (job: QueuedJob) => Promise<boolean>;
  /** SHA-256 of the token that the run will have, hex. A token is used for one claim only. */
  tokenHash: string;
}>;

export type ClaimedJob = Readonly<{ jobId: string; attempt: number; position: bigint | undefined }>;

const candidates = 20;

/** Ids of jobs that polls of this process claim now: of those that look at one moment, each tries another one. */
const claiming = new Set<string>();

/**
 * Gives the agent the next job that fits, and gives it to no other one: the append to the job's
 * stream decides, in any number of processes. Undefined when no job fits. The read models show the claim then.
 */
export async function claimNextJob(
  { db, store, now, visible }: Pick<WorkerDeps, "db" | "store" | "now" | "visible">,
  { agentId, filter, mayTake, tokenHash }: Claim,
): Promise<ClaimedJob | undefined> {
  const lost: string[] = [];
  for (;;) {
    const queued = await queuedJobs(db, { ...filter, except: lost, limit: candidates });
    if (queued.length === 0) return undefined;
    for (const each of queued) {
      lost.push(each.id);
      if (claiming.has(each.id) || !(await mayTake(each)) || claiming.has(each.id)) continue;
      const { id: jobId, pipeline_id: pipelineId, project_id: projectId, attempt } = each;
      const at = now().toISOString();
      const place = { jobId, pipelineId, projectId, at };
      const command = { type: "ClaimJob", ...place, agentId, tokenHash } as const;
      const commandId = deterministicId("claim", jobId, tokenHash);
      claiming.add(jobId);
      try {
        const order = { id: jobId, command, metadata: bySystem({ commandId }, at) };
        const { position } = await handleKept(store, job, order);
        // Until then it is in the queue for others.
        await visible(position);
        return { jobId, attempt, position };
      } catch (error) {
        const isTaken = error instanceof Refusal && error.code === "job.taken";
        if (!isTaken && !(error instanceof RevisionConflict)) throw error;
      } finally {
        claiming.delete(jobId);
      }
    }
  }
}
