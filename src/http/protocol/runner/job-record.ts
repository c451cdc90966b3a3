import { handle } from "../../../commands/core/handle.ts";
import { job as jobSlice } from "../../../commands/pipeline/job.ts";
import { bySystem } from "../../../events/core/system.ts";
import type { JobFailureReason } from "../../../events/pipeline/job.ts";
import type { JobSpec } from "../../../events/pipeline/job-spec.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import type { NewRun } from "../../../platform/job-log/store.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { confirmRun } from "../../../projections/agent/job.ts";
import { findJobById, type findJobSpec } from "../../../projections/pipeline/query.ts";
import type { JobRow } from "../../../projections/pipeline/table.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type AuthenticatedRun, runIsOver } from "./job-authentication.ts";

export type Report = Readonly<
  | { type: "RecordJobStarted" }
  | { type: "RecordJobSucceeded"; environmentUrl?: string | undefined }
  | {
      type: "RecordJobFailed";
      reason: JobFailureReason;
      exitCode: number | null;
      rules: NonNullable<Awaited<ReturnType<typeof findJobSpec>>>;
    }
>;

/**
 * Agents confirm a job by an update before any work; older ones by the first piece of its log. An agent that
 * proves the run has taken it.
 *
 * @throws HttpRefusal 403 when the run is over
 */
export async function confirm(
  request: RequestContext,
  deps: Deps,
  { job, run, isCanceling }: AuthenticatedRun,
): Promise<void> {
  if (isCanceling) return;
  if (run.confirmed_at === null && !(await confirmRun(deps.db, run, deps.now()))) {
    throw runIsOver((await findJobById(deps.db, job.id)) ?? job, run);
  }
  // A job that was given out before 2026-11-26 has not started yet.
  if (job.status !== "RUNNING") {
    await record(request, deps, { job, run }, { type: "RecordJobStarted" });
  }
}

/** @throws HttpRefusal 403 when the run ended between that check and now */
export async function record(
  request: RequestContext,
  deps: Deps,
  { job, run }: Pick<AuthenticatedRun, "job" | "run">,
  report: Report,
): Promise<void> {
  const command = {
    ...report,
    jobId: job.id,
    pipelineId: job.pipeline_id,
    projectId: job.project_id,
    agentId: run.agent_id,
    attempt: run.attempt,
    tokenHash: run.token_hash,
    at: deps.now().toISOString(),
  };
  try {
    await request.executeProcess((metadata) => {
      // One request may record the start and the end.
      const commandId = deterministicId(metadata.commandId, report.type);
      const order = { id: job.id, command, metadata: { ...metadata, commandId } };
      return handle(deps.store, jobSlice, order);
    });
  } catch (error) {
    const isOver = error instanceof Refusal && /^job\.(?:finished|not_yours)$/.test(error.code);
    if (!isOver) throw error;
    throw runIsOver((await findJobById(deps.db, job.id)) ?? job, run);
  }
}

/**
 * Fails a job that was given away and that cannot be sent: a key that sealed something of it is lost. Returned, it
 * would be given away again and again.
 */
export async function recordUnreadable(
  { store, now }: Pick<Deps, "store" | "now">,
  { job, run, rules }: Readonly<{ job: JobRow; run: NewRun; rules: JobSpec }>,
): Promise<void> {
  const at = now().toISOString();
  const ids = { jobId: job.id, pipelineId: job.pipeline_id, projectId: job.project_id, at };
  const of = { agentId: run.agent_id, attempt: run.attempt, tokenHash: run.token_hash };
  const message =
    "A variable or secret of the job cannot be read, because its key is lost: set it anew.";
  const why = { reason: "data_integrity_failure", message, exitCode: null, rules } as const;
  const command = { type: "RecordJobFailed", ...ids, ...of, ...why } as const;
  const metadata = bySystem({ commandId: deterministicId("unreadable", run.token_hash) }, at);
  await handle(store, jobSlice, { id: job.id, command, metadata });
}
