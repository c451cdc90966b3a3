import { buffer } from "node:stream/consumers";

import { appendLog, type JobRunRow } from "../../../platform/job-log/store.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { type Route, route } from "../../core/route.ts";
import { authenticatedRun, goingStatus, JobNumberParams } from "./job-authentication.ts";
import { confirm } from "./job-record.ts";
import { masksOf } from "./masks.ts";
import { protocol } from "./protocol.ts";

/** gitlab-runner sends pieces of 1 MiB; a little more than that is taken. */
const pieceBytesMax = 1024 ** 2 + 4_096;
const intervalSeconds = 10;
const watchedIntervalSeconds = 3;
const watchedMs = 20_000;

/** How often the agent is to send the log: more often while a user reads it. */
export function updateInterval({ watched_at }: Pick<JobRunRow, "watched_at">, now: Date) {
  const isWatched = watched_at !== null && now.getTime() - watched_at.getTime() < watchedMs;
  const seconds = isWatched ? watchedIntervalSeconds : intervalSeconds;
  return { "X-GitLab-Trace-Update-Interval": String(seconds) };
}

const appendTrace = route({
  ...protocol,
  method: "patch",
  path: "/api/v4/jobs/{jobNumber}/trace",
  operationId: "appendJobLog",
  summary: "Append to the log of a job",
  description:
    "`Content-Range: first-last` says where the body belongs. 416 with `Range: 0-next`, and nothing " +
    "stored, when the body is not the next piece.",
  params: JobNumberParams,
  attachment: true,
  otherAnswers: { 202: "The piece is stored; `Range: 0-next`." },
  reply: "stream",
  async handle({ params, request }, deps) {
    const authenticated = await authenticatedRun(request, deps, {
      jobNumber: params.jobNumber,
      inBody: "",
    });
    await confirm(request, deps, authenticated);
    const data = await buffer(request.incoming(pieceBytesMax).body);
    const first = firstByte(request.header("content-range"), data.length);
    const forms = await masksOf(deps, authenticated);
    const { fits, received } = await appendLog(deps.db, authenticated.run, { first, data, forms });
    return {
      body: "",
      type: "application/json",
      status: fits ? 202 : 416,
      headers: {
        Range: `0-${received}`,
        "Job-Status": goingStatus(authenticated),
        ...updateInterval(authenticated.run, deps.now()),
      },
    };
  },
});

/** @throws Refusal 400 when the header is missing, malformed or contradicts the body */
function firstByte(header: string, bytes: number): number {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(header.trim());
  const [first, last] = [Number(match?.[1]), Number(match?.[2])];
  if (match !== null && bytes > 0 && last - first + 1 === bytes) return first;
  const message = "Content-Range must be first-last and fit the length of the body.";
  throw new Refusal("bad_request", "job.content_range", message);
}

export const traceRoutes: readonly Route[] = [appendTrace];
