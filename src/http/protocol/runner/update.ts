import { z } from "zod";

import { JobFailureReason } from "../../../events/pipeline/job.ts";
import { closeLog, noteRunFinal, noteRunOver } from "../../../platform/job-log/store.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findJobSpec } from "../../../projections/pipeline/query.ts";
import { keepLogOfStopped } from "../../../services/agent/stopped-log.ts";
import { releaseByJob } from "../../../services/pipeline/job-release.ts";
import { findJobRun } from "../../../services/pipeline/job-run.ts";
import { reportedAddress } from "../../../services/pipeline/job-variable.ts";
import type { StreamReply } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { int } from "../../core/schema.ts";
import {
  type AuthenticatedRun,
  authenticatedRun,
  goingStatus,
  JobNumberParams,
} from "./job-authentication.ts";
import { confirm, type Report, record } from "./job-record.ts";
import { masksOf, mayRelease } from "./masks.ts";
import { protocol } from "./protocol.ts";
import { updateInterval } from "./trace.ts";

/** For this time, an agent that reports the end of the job is requested to send the missing part of the log. */
const logWaitMs = 60_000;

const JobUpdate = z
  .object({
    token: z.string().max(255).default(""),
    state: z.enum(["running", "success", "failed"]),
    failure_reason: z.string().max(255).default(""),
    exit_code: int({ min: -(2 ** 31), max: 2 ** 31 - 1 }).optional(),
    output: z.object({ bytesize: int({ min: 0 }).default(0) }).default({ bytesize: 0 }),
  })
  .meta({ id: "JobUpdate" });

const updateJob = route({
  ...protocol,
  method: "put",
  path: "/api/v4/jobs/{jobNumber}",
  operationId: "updateJob",
  summary: "Say that a job runs, or how it ended",
  description:
    "403 with `Job-Status` once the run is over. `Job-Status: canceling` to an agent with the feature `cancel_gracefully` while it may run what follows the script of a canceled job. A job with `release` makes it when it succeeds, and fails with `release_failed` where that is refused.",
  otherAnswers: { 202: "The end of the log is missing: send it, then this again." },
  params: JobNumberParams,
  body: JobUpdate,
  reply: "stream",
  async handle({ params, body, request }, deps) {
    const { jobNumber } = params;
    const authenticated = await authenticatedRun(request, deps, { jobNumber, inBody: body.token });
    await confirm(request, deps, authenticated);
    if (body.state === "running") {
      return answered(deps, authenticated, 200, goingStatus(authenticated));
    }
    const isWhole = Number(authenticated.run.received) >= body.output.bytesize;
    if (!isWhole && mayStillCome(deps, authenticated)) {
      await noteRunFinal(deps.db, authenticated.run, deps.now());
      return answered(deps, authenticated, 202, goingStatus(authenticated));
    }
    if (authenticated.isCanceling) {
      await stopped(deps, authenticated);
      return answered(deps, authenticated, 200, "canceled");
    }
    const released =
      body.state === "success" && mayRelease(authenticated)
        ? await releaseByJob(deps, authenticated.job, authenticated.token)
        : undefined;
    const state = released?.isCreated === false ? "failed" : body.state;
    const ending = released?.line ?? "";
    await closeLog(deps.db, authenticated.run, await masksOf(deps, authenticated), { ending });
    const end = released?.isCreated === false ? { ...body, ...releaseFailed } : body;
    await record(request, deps, authenticated, await endOf(deps, authenticated, end));
    return answered(deps, authenticated, 200, state);
  },
});

/** Ends the run of a job that was canceled. What is left undone by a crash in between is done when its time is over. */
async function stopped(deps: Deps, authenticated: AuthenticatedRun): Promise<void> {
  const { job, run } = authenticated;
  await closeLog(deps.db, run, await masksOf(deps, authenticated));
  await noteRunOver(deps.db, run, deps.now());
  await deps.queues.add([keepLogOfStopped(job, run.attempt)]);
}

const releaseFailed = { state: "failed", failure_reason: "release_failed" } as const;

function mayStillCome({ now }: Deps, { run }: AuthenticatedRun): boolean {
  return run.final_at === null || now().getTime() - run.final_at.getTime() < logWaitMs;
}

const answered = (
  { now }: Deps,
  { run }: AuthenticatedRun,
  status: number,
  state: string,
): StreamReply => ({
  body: "",
  type: "application/json",
  status,
  headers: { "Job-Status": state, ...updateInterval(run, now()) },
});

async function endOf(
  deps: Deps,
  { job, token }: AuthenticatedRun,
  { state, failure_reason, exit_code }: z.output<typeof JobUpdate>,
): Promise<Report> {
  if (state === "success") {
    const run = job.environment_name === null ? undefined : await findJobRun(deps, job);
    const environmentUrl = run && (await reportedAddress(run, token));
    return { type: "RecordJobSucceeded", environmentUrl };
  }
  const rules = await findJobSpec(deps.db, job.id);
  if (rules === undefined) throw new Refusal("not_found", "job.not_found", "Job not found.");
  const reason = JobFailureReason.catch("unknown_failure").parse(failure_reason);
  return { type: "RecordJobFailed", reason, exitCode: exit_code ?? null, rules };
}

export const jobUpdateRoutes: readonly Route[] = [updateJob];
