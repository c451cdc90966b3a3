import { z } from "zod";

import { agentActor } from "../../../events/agent/actor.ts";
import { placeOfNumber } from "../../../events/pipeline/number.ts";
import type { PipelineStatus } from "../../../events/pipeline/status.ts";
import { isLetEnd, type JobRunRow, noteRunContact } from "../../../platform/job-log/store.ts";
import { hashToken } from "../../../platform/key/token.ts";
import { noteActivity } from "../../../projections/agent/contact.ts";
import { findJobAndRun } from "../../../projections/agent/job.ts";
import type { JobRow } from "../../../projections/pipeline/table.ts";
import type { Deps } from "../../core/deps.ts";
import { HttpRefusal } from "../../core/errors.ts";
import type { RequestContext } from "../../core/request.ts";
import { badToken, contactEveryMs, sentToken } from "./authentication.ts";

/** A number that the protocol has instead of an id. */
export const safeNumber = (example: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,15}$/)
    .meta({ examples: [example] })
    .transform(Number)
    .refine(Number.isSafeInteger);

/** Number of a job in the whole service. */
export const JobNumberParams = z.object({ jobNumber: safeNumber("4096") });

export type AuthenticatedRun = Readonly<{
  job: JobRow;
  run: JobRunRow;
  token: string;
  /** The job was canceled, and its agent may still run after_script and send the rest of the log. */
  isCanceling: boolean;
}>;

/** What `Job-Status` reports to the agent of a run that goes on; upon `canceling` it stops the script. */
export const goingStatus = ({ isCanceling }: AuthenticatedRun): string =>
  isCanceling ? "canceling" : "running";

/**
 * The run of a job whose token a request carries, while that run goes on.
 *
 * @throws Refusal 403 for another token; HttpRefusal 403 `job.over` with `Job-Status` once the run is over, upon
 *   which the agent drops the job
 */
export async function authenticatedRun(
  request: RequestContext,
  deps: Deps,
  given: Readonly<{ jobNumber: number; inBody: string }>,
): Promise<AuthenticatedRun> {
  const token = sentToken(request, "job-token", given.inBody);
  const tokenHash = hashToken(token);
  const found = await findJobAndRun(deps.db, placeOfNumber(given.jobNumber), tokenHash);
  if (found === undefined) throw badToken();
  const { job, run } = found;
  const at = deps.now();
  const isCanceled = job.status === "CANCELED" && job.attempt === run.attempt;
  const isCanceling = isCanceled && isLetEnd(run, at);
  if (job.token_hash !== tokenHash && !isCanceling) throw runIsOver(job, run);
  if (at.getTime() - run.contact_at.getTime() >= contactEveryMs) {
    await noteRunContact(deps.db, run, at);
    await noteActivity(deps.db, { agentId: run.agent_id, ip: request.ip, at });
  }
  request.actBy(agentActor(run.agent_id));
  return { job, run, token, isCanceling };
}

/** The agent knows two ends that are not its own; a run that was given to another agent has failed. */
export function runIsOver(job: JobRow, run: Pick<JobRunRow, "attempt">): HttpRefusal {
  const status = job.attempt === run.attempt ? jobStatusText(job.status) : "failed";
  const headers = { "Job-Status": status };
  return new HttpRefusal(403, "job.over", "This run of the job is over.", headers);
}

export function jobStatusText(status: PipelineStatus): string {
  switch (status) {
    case "CANCELED":
      return "canceled";
    case "SUCCESS":
      return "success";
    case "RUNNING":
      return "running";
    case "PENDING":
      return "pending";
    default:
      return "failed";
  }
}
