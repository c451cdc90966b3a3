import { handle } from "../../commands/core/handle.ts";
import { type JobCommand, job } from "../../commands/pipeline/job.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import { jobsQueuedBefore, jobsWithoutAgent } from "../../projections/agent/stuck.ts";
import { jobSpecs } from "../../projections/pipeline/query.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import type { WorkerDeps } from "../core/deps.ts";

type StuckDeps = Pick<WorkerDeps, "db" | "store" | "now">;

/** An agent that comes back within this time is not missed. */
export const noAgentAfterMs = 30_000;
/** As long as GitLab lets jobs wait. */
export const stuckAfterMs = 24 * 3_600_000;
const jobsAtOnce = 500;

/** Says of jobs that no agent fits them; they stay in the queue for one that may come. */
export async function sweepJobsWithoutAgent({ db, store, now }: StuckDeps): Promise<void> {
  const queuedBefore = new Date(now().getTime() - noAgentAfterMs);
  for (const row of await jobsWithoutAgent(db, { queuedBefore, limit: jobsAtOnce })) {
    await order({ store, now }, row, { ...idsOf(row), type: "BlockJob", reason: "NO_AGENT" });
  }
}

/** Fails jobs that no agent took within a day. */
export async function sweepStuckJobs({ db, store, now }: StuckDeps): Promise<void> {
  const queuedBefore = new Date(now().getTime() - stuckAfterMs);
  const rows = await jobsQueuedBefore(db, { queuedBefore, limit: jobsAtOnce });
  const ids = rows.map(({ id }) => id);
  const specs = await jobSpecs(db, ids);
  for (const row of rows) {
    const rules = specs.get(row.id);
    if (rules === undefined) continue;
    const what = { type: "RecordJobFailed", reason: "stuck_or_timeout_failure" } as const;
    const of = { exitCode: null, rules, agentId: null, attempt: row.attempt };
    await order({ store, now }, row, { ...idsOf(row), ...what, ...of });
  }
}

const idsOf = (row: JobRow) => ({
  jobId: row.id,
  pipelineId: row.pipeline_id,
  projectId: row.project_id,
});

type Unplaced<Command> = Command extends unknown ? Omit<Command, "at"> : never;

/** An agent may have taken the job in the meantime: then nothing is to be done. */
async function order(
  { store, now }: Pick<StuckDeps, "store" | "now">,
  row: JobRow,
  given: Unplaced<JobCommand>,
): Promise<void> {
  const at = now().toISOString();
  // Each member of the union lost this field, and gets it back.
  const command = { ...given, at } as JobCommand;
  const commandId = deterministicId("stuck job", row.id, row.attempt, given.type);
  try {
    await handle(store, job, { id: row.id, command, metadata: bySystem({ commandId }, at) });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}
