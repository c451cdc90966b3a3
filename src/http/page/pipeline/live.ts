import { setImmediate } from "node:timers/promises";
import { z } from "zod";

import { isFinished } from "../../../events/pipeline/status.ts";
import { AnsiLines } from "../../../platform/ansi.ts";
import { logLine } from "../../../platform/job-log/line.ts";
import {
  allJobs,
  findJob,
  findPipeline,
  findPipelineById,
} from "../../../projections/pipeline/query.ts";
import type { JobRow } from "../../../projections/pipeline/table.ts";
import { followedLog, pause } from "../../api/agent/log.ts";
import type { Deps } from "../../core/deps.ts";
import { eventStream } from "../../core/event-stream.ts";
import type { RequestFor } from "../../core/request.ts";
import { when } from "../common/piece.ts";
import { type Html, html } from "../core/html.ts";
import { type PageRoute, page } from "../core/route.ts";
import { linePiece } from "./log.ts";

/** Proxies and browsers end connections on which nothing comes. */
const quietMs = 15_000;
/** Each of them is made without a pause. */
const linesPerEventMax = 1_000;
const charactersPerEventMax = 64 * 1024;
/** Of a line that has no end yet. */
const restLengthMax = 64 * 1024;

type Request = RequestFor<"project:GUEST">;

const event = (id: string, data: unknown): string => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;

const followLog = page({
  method: "get",
  path: "/page/project/{ownerAlias}/{projectAlias}/cicd/job/{localId}/live",
  operationId: "followJobLogByPage",
  access: "session",
  query: z.object({
    at: z.coerce.number().int().min(0).catch(0),
    line: z.coerce.number().int().min(0).catch(0),
  }),
  async handle({ params, query, visit }, deps) {
    const request = await visit.operations.project("streamJobLog", params);
    const job = await findJob(deps.db, request.project.id, Number(params.localId));
    const [, at = query.at, line = query.line] =
      /^(\d{1,15})-(\d{1,15})$/.exec(visit.header("last-event-id"))?.map(Number) ?? [];
    return {
      stream: eventStream(logEvents(deps, request, job?.id, { at, line }), visit.session.user_id),
    };
  },
});

type Position = Readonly<{ at: number; line: number }>;

/**
 * Events of whole lines; `id` is the byte and the number of the line behind those of the event.
 *
 * @param from the byte behind all of the lines, and the number of the line before them
 */
export function* lineEvents(
  lines: readonly string[],
  from: Position,
  ansi: AnsiLines,
): Generator<string> {
  const bytes = (some: readonly string[]): number =>
    some.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
  let { line } = from;
  let at = Math.max(0, from.at - bytes(lines));
  for (let [begin, end] = [0, 0]; begin < lines.length; begin = end) {
    end = endOfEvent(lines, begin);
    const some = lines.slice(begin, end);
    const first = line + 1;
    line += some.length;
    at = line - from.line === lines.length ? from.at : at + bytes(some);
    const markup = some.map((each, index) => {
      const { time, text } = logLine(each);
      return linePiece(ansi.line(text), { number: first + index, time }, 0);
    });
    yield event(`${at}-${line}`, markup.join(""));
  }
}

/** One line at least. */
function endOfEvent(lines: readonly string[], begin: number): number {
  let end = begin;
  for (let length = 0; length < charactersPerEventMax && end - begin < linesPerEventMax; end += 1) {
    const line = lines[end];
    if (line === undefined) break;
    length += line.length;
  }
  return end;
}

/** Whole lines as HTML, as they come; `id` is the byte and the number behind them. */
async function* logEvents(
  deps: Deps,
  request: Request,
  jobId: string | undefined,
  from: Position,
): AsyncGenerator<string> {
  const { signal, mustStillMay } = request;
  const ansi = new AnsiLines();
  let { line } = from;
  let rest = "";
  let sentAt = Date.now();
  yield ": log\n\n";
  const following = jobId && { jobId, from: from.at, signal, mustStillMay };
  for await (const piece of following ? followedLog(deps, following) : []) {
    if (piece === undefined) {
      if (Date.now() - sentAt <= quietMs) continue;
      yield ": quiet\n\n";
      sentAt = Date.now();
      continue;
    }
    const lines = (rest + piece.log).split("\n");
    rest = (lines.pop() ?? "").slice(0, restLengthMax);
    for (const each of lineEvents(lines, { at: piece.at - Buffer.byteLength(rest), line }, ansi)) {
      yield each;
      sentAt = Date.now();
      await setImmediate();
    }
    line += lines.length;
  }
  yield "event: end\ndata:\n\n";
}

const followPipeline = page({
  method: "get",
  path: "/page/project/{ownerAlias}/{projectAlias}/cicd/pipeline/{localId}/live",
  operationId: "followPipelineByPage",
  access: "session",
  async handle({ params, visit }, deps) {
    const request = await visit.operations.project("getPipeline", params);
    const pipeline = await findPipeline(deps.db, request.project.id, Number(params.localId));
    return {
      stream: eventStream(statusEvents(deps, request, pipeline?.id), visit.session.user_id),
    };
  },
});

type Statuses = ReadonlyMap<string, string>;

/** Names a cell of the table of jobs, whose content an event brings. */
export const cellId = (jobId: string, what: "started" | "ended"): string => `${jobId} ${what}`;

/** The time in a cell of the table of jobs, or nothing. */
export const cellTime = (instant: string | null): Html =>
  instant === null ? html`` : when(instant);

const cellsOf = ({ id, started_at, finished_at }: JobRow): readonly [string, string][] => [
  [cellId(id, "started"), cellTime(started_at?.toISOString() ?? null).markup],
  [cellId(id, "ended"), cellTime(finished_at?.toISOString() ?? null).markup],
];

/** Those that are not as known. */
const changedOf = (now: Statuses, sent: Statuses): Statuses =>
  new Map([...now].filter(([id, value]) => sent.get(id) !== value));

/**
 * Statuses by the id of the pipeline or the job: all first, then those that changed. The same, as events named `cells`,
 * of the markup of times by cellId.
 */
async function* statusEvents(
  deps: Deps,
  request: Request,
  id: string | undefined,
): AsyncGenerator<string> {
  const { signal } = request;
  let sent: Statuses = new Map();
  let knownCells: Statuses = new Map();
  let sentAt = Date.now();
  yield ": statuses\n\n";
  while (!signal.aborted && id !== undefined) {
    await request.mustStillMay();
    const pipeline = await findPipelineById(deps.db, id);
    if (pipeline === undefined) break;
    const jobs = await allJobs(deps.db, id);
    const now: Statuses = new Map([pipeline, ...jobs].map((each) => [each.id, each.status]));
    const changed = changedOf(now, sent);
    if (changed.size > 0) {
      yield event("0", Object.fromEntries(changed));
      sentAt = Date.now();
    }
    sent = now;
    const nowInCells: Statuses = new Map(jobs.flatMap(cellsOf));
    const cells = changedOf(nowInCells, knownCells);
    if (cells.size > 0) yield `event: cells\n${event("0", Object.fromEntries(cells))}`;
    knownCells = nowInCells;
    if (isFinished(pipeline.status)) break;
    if (Date.now() - sentAt > quietMs) {
      yield ": quiet\n\n";
      sentAt = Date.now();
    }
    // Twice the pause of a log: a pipeline may have a thousand jobs.
    await pause(signal);
    await pause(signal);
  }
  yield "event: end\ndata:\n\n";
}

export const livePages: readonly PageRoute[] = [followLog, followPipeline];
