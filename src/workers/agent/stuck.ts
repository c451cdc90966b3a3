import { jobsQueuedBefore, jobsWithoutAgent } from "../../projections/agent/stuck.ts";
import { jobSpecs } from "../../projections/pipeline/query.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { orderIfOpen } from "../../services/core/job-order.ts";

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
    await orderIfOpen({ store, now }, row, { type: "BlockJob", reason: "NO_AGENT" }, stepOf(row));
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
    await orderIfOpen({ store, now }, row, { ...what, ...of }, stepOf(row));
  }
}

const stepOf = ({ id, attempt }: JobRow) => ["stuck job", id, attempt];
