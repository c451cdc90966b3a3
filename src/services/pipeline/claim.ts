import { handle } from "../../commands/core/handle.ts";
import { job } from "../../commands/pipeline/job.ts";
import { agentActor } from "../../events/agent/actor.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { RevisionConflict } from "../../platform/event-store/event-store.ts";
import { invariant } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import { type QueuedJob, type QueueFilter, queuedJobs } from "../../projections/pipeline/queue.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import type { WorkerDeps } from "../core/deps.ts";

export type Claim = Readonly<{
  agentId: string;
  /** Which queued jobs fit the agent; see QueueFilter. */
  filter: Omit<QueueFilter, "limit" | "except">;
  /** Called when a claim has failed by an error: looks that came meanwhile have passed the job over. */
  freed?: () => void;
  /** Called for each job before it is claimed: is its ref protected, does the agent have the features? */
  mayTake: (job: QueuedJob) => Promise<boolean>;
  /** SHA-256 of the token that the run will have, hex. A token is used for one claim only. */
  tokenHash: string;
}>;

/** As it was in the queue, and as it is now. */
export type ClaimedJob = QueuedJob &
  Readonly<{
    /** Of the event that gave it to the agent. */
    position: bigint;
  }>;

/** A few are enough, but for an agent that may not take them. */
const candidates = 20;

/** Ids of jobs that polls of this process claim now: of those that read at one moment, each tries another one. */
const claiming = new Set<string>();

type ClaimDeps = Pick<WorkerDeps, "db" | "store" | "now" | "visible">;

/** Positions of claims that the read models did not show in time: no agent got these jobs, nor would it get the next. */
const unshown = new WeakMap<ClaimDeps["visible"], bigint>();

/**
 * Gives the agent the next job that fits, and gives it to no other one: the append to the job's
 * stream decides, in any number of processes. Undefined when no job fits. The read models show the claim then.
 *
 * @throws Refusal `projection.lagging` when they do not, or do not show an earlier one yet: then nothing is claimed
 */
export async function claimNextJob(deps: ClaimDeps, claim: Claim): Promise<ClaimedJob | undefined> {
  const { filter, mayTake } = claim;
  const earlier = unshown.get(deps.visible);
  if (earlier !== undefined) await deps.visible(earlier);
  const lost: string[] = [];
  for (;;) {
    const jobs = await queuedJobs(deps.db, { ...filter, except: lost, limit: candidates });
    let isChanged = jobs.length === candidates;
    for (const each of jobs) {
      const { id: jobId } = each.job;
      lost.push(jobId);
      if (claiming.has(jobId) || !(await mayTake(each)) || claiming.has(jobId)) continue;
      claiming.add(jobId);
      try {
        const claimed = await claimJob(deps, claim, each.job);
        if (claimed !== undefined) return { ...each, ...claimed };
      } catch (error) {
        claiming.delete(jobId);
        claim.freed?.();
        throw error;
      } finally {
        claiming.delete(jobId);
      }
      // What the queue showed has changed: the rest of it is probably taken as well.
      isChanged = true;
      break;
    }
    if (!isChanged || jobs.length === 0) return undefined;
  }
}

/** Undefined when the job is not in the queue any more. */
async function claimJob(
  { store, now, visible }: ClaimDeps,
  { agentId, tokenHash }: Claim,
  row: JobRow,
): Promise<Pick<ClaimedJob, "job" | "position"> | undefined> {
  const { id: jobId, pipeline_id: pipelineId, project_id: projectId, attempt } = row;
  const at = now().toISOString();
  const ids = { jobId, pipelineId, projectId, at };
  const command = { type: "ClaimJob", ...ids, agentId, attempt, tokenHash } as const;
  const commandId = deterministicId("claim", jobId, tokenHash);
  try {
    const order = {
      id: jobId,
      command,
      metadata: { ...bySystem({ commandId }, at), actor: agentActor(agentId) },
    };
    const { position } = await handle(store, job, order);
    invariant(position !== undefined, "a claim is an event");
    // Until then it is in the queue for others.
    await visible(position).catch((error: unknown) => {
      unshown.set(visible, position);
      throw error;
    });
    return { job: assigned(row, { agentId, tokenHash, at }), position };
  } catch (error) {
    const isTaken = error instanceof Refusal && error.code === "job.taken";
    if (!isTaken && !(error instanceof RevisionConflict)) throw error;
    return undefined;
  }
}

const assigned = (
  row: JobRow,
  { agentId, tokenHash, at }: Readonly<{ agentId: string; tokenHash: string; at: string }>,
): JobRow => ({
  ...row,
  status: "RUNNING",
  queued: false,
  block_reason: null,
  agent_id: agentId,
  token_hash: tokenHash,
  assigned_at: new Date(at),
  started_at: new Date(at),
});
