import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";

import { isFinished } from "../../../events/pipeline/status.ts";
import { findRun, isLetEnd, noteRunWatched } from "../../../platform/job-log/store.ts";
import { findJobById } from "../../../projections/pipeline/query.ts";
import type { JobRow } from "../../../projections/pipeline/table.ts";
import type { Deps } from "../../core/deps.ts";
import { eventStream } from "../../core/event-stream.ts";
import { requestedPortion } from "../../core/file/byte-range.ts";
import { type Route, route } from "../../core/route.ts";
import { invalid } from "../../core/schema.ts";
import { base, LocalIdParams, mustFindJob, reading } from "../pipeline/found.ts";
import { type FoundLog, findLog, readFoundLog } from "./log-source.ts";

const path = `${base}/job/{localId}/log` as const;
const type = "text/plain; charset=utf-8";

const getLog = route({
  ...reading,
  method: "get",
  path,
  operationId: "getJobLog",
  summary: "Get the log of the last run of a job, as far as it came",
  description: "`Range` gets a part of it. It is empty before the first run.",
  params: LocalIdParams,
  reply: "stream",
  async handle({ params, request }, deps) {
    const { job } = await mustFindJob(deps, request, params.localId);
    const key = { job_id: job.id, attempt: job.attempt };
    const found = await findLog(deps, key);
    const total = found?.bytes ?? 0;
    // Also before its first piece: the reader waits for it.
    if (found !== undefined && !isFinished(job.status)) {
      await noteRunWatched(deps.db, key, deps.now());
    }
    if (found === undefined || total === 0) return { body: "", type, bytes: 0 };
    const tag = `${job.id}-${job.attempt}`;
    const { first, last, bytes, part } = requestedPortion(request, { tag, bytes: total });
    const body = Readable.from(readFoundLog(deps, found, { first, last }), { objectMode: false });
    return { body, type, bytes, acceptRanges: true, ...(part && { part }) };
  },
});

const lookMs = 500;
const watchedEveryMs = 10_000;
/** A line of the stream holds at most this much of the log. */
const eventBytesMax = 64 * 1024;

const streamLog = route({
  ...reading,
  method: "get",
  path: `${path}/stream`,
  operationId: "streamJobLog",
  summary: "Follow the log of a job as server-sent events",
  description:
    "`data` is a JSON text, a piece of the log; `id` is the offset of the byte behind it, with which " +
    "`Last-Event-ID` continues. The last event is `end`, also when the job is run once more: that run has a log of " +
    "its own.",
  params: LocalIdParams,
  reply: "stream",
  async handle({ params, request }, deps) {
    const { job } = await mustFindJob(deps, request, params.localId);
    const from = await startOf(deps, job, request.header("last-event-id"));
    const { signal, mustStillMay, userId } = request;
    return eventStream(follow(deps, { jobId: job.id, from, signal, mustStillMay }), userId);
  },
});

/** @throws Refusal 422 for an offset that is none, or that lies ahead */
async function startOf(
  deps: Pick<Deps, "db" | "blobs">,
  job: JobRow,
  lastEventId: string,
): Promise<number> {
  if (lastEventId === "") return 0;
  const offset = /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : Number.NaN;
  const found = await findLog(deps, { job_id: job.id, attempt: job.attempt });
  if (offset <= (found?.bytes ?? 0)) return offset;
  const message = "The log of this run has no such offset. Give the id of an event that it sent.";
  throw invalid([{ field: "Last-Event-ID", code: "log.position", message }]);
}

type Following = Readonly<{
  jobId: string;
  from: number;
  signal: AbortSignal;
  /** @throws Refusal when the caller may not read the log any more */
  mustStillMay: () => Promise<void>;
}>;

/** The stream's events. Exported for its test. */
export async function* follow(
  deps: Pick<Deps, "db" | "blobs" | "now">,
  following: Following,
): AsyncGenerator<string> {
  let at = following.from;
  yield ": log\n\n";
  for await (const piece of followedLog(deps, following)) {
    if (piece === undefined) continue;
    at = piece.at;
    yield `id: ${at}\ndata: ${JSON.stringify(piece.log)}\n\n`;
  }
  yield `event: end\nid: ${at}\ndata:\n\n`;
}

/**
 * The log of a job as it grows, until the job is over, gone or run once more; undefined each time that all there is was
 * given. `at` is the byte behind a piece.
 */
export async function* followedLog(
  deps: Pick<Deps, "db" | "blobs" | "now">,
  { jobId, from, signal, mustStillMay }: Following,
): AsyncGenerator<LogPiece | undefined> {
  let at = from;
  let watchedAt = 0;
  let attempt: number | undefined;
  while (!signal.aborted) {
    // A reader who loses the right to read gets no more of the log.
    await mustStillMay();
    // The end is read first: what came before it is then seen in the log.
    const job = await findJobById(deps.db, jobId);
    // Bytes are counted in the log of one run: the next one has a log of its own.
    attempt = at === 0 ? job?.attempt : (attempt ?? job?.attempt);
    const isOver = job?.attempt !== attempt || job === undefined || (await isLogOver(deps, job));
    const found =
      attempt === undefined ? undefined : await findLog(deps, { job_id: jobId, attempt });
    for await (const piece of found === undefined ? [] : logPieces(deps, found, at)) {
      at = piece.at;
      yield piece;
    }
    if (isOver) return;
    if (found !== undefined && Date.now() - watchedAt > watchedEveryMs) {
      await noteRunWatched(deps.db, found.key, deps.now());
      watchedAt = Date.now();
    }
    yield undefined;
    await pause(signal);
  }
}

/** The log of a canceled job grows for a while where its agent stops gracefully. */
async function isLogOver({ db, now }: Pick<Deps, "db" | "now">, job: JobRow): Promise<boolean> {
  if (!isFinished(job.status)) return false;
  if (job.status !== "CANCELED") return true;
  const run = await findRun(db, { job_id: job.id, attempt: job.attempt });
  return run === undefined || !isLetEnd(run, now());
}

type LogPiece = Readonly<{ at: number; log: string }>;

/** The log from a byte on, in pieces of whole characters; `at` is the byte behind each. */
export async function* logPieces(
  deps: Pick<Deps, "db" | "blobs">,
  found: FoundLog,
  from: number,
): AsyncGenerator<LogPiece> {
  let at = from;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of readFoundLog(deps, found, { first: from, last: found.bytes - 1 })) {
    const all = Buffer.concat([rest, chunk]);
    for (let begin = 0; ; ) {
      const end = wholeCharacters(all, begin, Math.min(begin + eventBytesMax, all.length));
      if (end === begin) {
        rest = all.subarray(begin);
        break;
      }
      at += end - begin;
      yield { at, log: all.toString("utf8", begin, end) };
      begin = end;
    }
  }
}

/** Where the last character that is whole ends: the next event begins with the others. */
function wholeCharacters(bytes: Buffer, from: number, to: number): number {
  for (let back = 1; back <= 3 && to - back >= from; back += 1) {
    const byte = bytes[to - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? to - back : to;
  }
  return to;
}

/** Lasts until the log is read again, or no reader waits for it. */
export async function pause(signal: AbortSignal): Promise<void> {
  await delay(lookMs, undefined, { signal }).catch(() => undefined);
}

export const jobLogRoutes: readonly Route[] = [getLog, streamLog];
