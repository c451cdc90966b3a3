import { type Readable, Transform } from "node:stream";
import { finished } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { Context } from "koa";

import { Limit } from "../../platform/limit.ts";
import { Refusal } from "../../platform/refusal.ts";
import { type Spooled, spooled } from "../../platform/spooled.ts";
import { HttpRefusal } from "./errors.ts";
import { sendContinue } from "./expect-continue.ts";
import { whenClosed } from "./peer.ts";

/** Less would stop the connection at each piece that comes. */
const bodyBufferBytes = 128 * 1024;

/**
 * The request's body, inflated when it came as gzip, cut off beyond the limit: a small body can hold
 * a very large one.
 *
 * @throws HttpRefusal 415 for another encoding; Refusal 413 when its length says that it is too large
 */
export function requestBody(ctx: Context, bytesMax: number): Readable {
  const encoding = ctx.get("content-encoding").toLowerCase();
  if (!["", "identity", "gzip", "x-gzip"].includes(encoding)) {
    throw new HttpRefusal(415, "body.encoding", "The body may be encoded with gzip only.");
  }
  const tooLarge = () =>
    new Refusal("too_large", "body.too_large", `The body is over ${bytesMax} bytes.`);
  if (Number(ctx.get("content-length")) > bytesMax) throw tooLarge();
  sendContinue(ctx.req);
  let bytes = 0;
  const bounded = new Transform({
    highWaterMark: bodyBufferBytes,
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= bytesMax) done(null, chunk);
      else done(tooLarge());
    },
  });
  const cut = (error: Error): void => void bounded.destroy(error);
  // The connection must stay open for the answer, so errors are passed on by hand, not by pipeline().
  bounded.on("error", () => undefined);
  // What came before the line broke is lost unless it was read by then, even when it was all.
  const cutOff = (): void => {
    if (!ctx.req.readableEnded) cut(new HttpRefusal(400, "body.cut", "The body was cut."));
  };
  if (ctx.req.destroyed) cutOff();
  else ctx.req.once("close", cutOff);
  if (!encoding.endsWith("gzip")) return ctx.req.pipe(bounded);
  const inflating = createGunzip();
  inflating.once("error", () =>
    cut(new Refusal("bad_request", "body.encoding", "The body is not the gzip it claims to be.")),
  );
  return ctx.req.pipe(inflating).pipe(bounded);
}

/**
 * Reads and drops what is left of a body that nothing needs, so that the client reads the answer. Nothing more
 * of it is inflated: a small body can hold a very large one.
 */
export async function dropRest({ req }: Context): Promise<void> {
  if (req.readableEnded || req.destroyed) return;
  req.unpipe();
  await finished(req.resume()).catch(() => undefined);
}

/**
 * All of a body that says it is small.
 *
 * @returns undefined when it does not, or is encoded: nothing of it has been read
 * @throws HttpRefusal 400 `body.cut`
 */
export async function smallBody(ctx: Context, bytesMax: number): Promise<Buffer | undefined> {
  const length = Number(ctx.get("content-length"));
  if (length === 0 || !(length <= bytesMax) || ctx.get("content-encoding") !== "") return undefined;
  const chunks: Buffer[] = [];
  for await (const chunk of requestBody(ctx, bytesMax)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const checkMs = 5_000;

/** Bodies up to this are read whenever they come; of larger ones it is counted what they hold. */
const largeBytesMin = 1024 ** 2;
const wholeBodyTimeoutMs = 60_000;
const requestBytes = new Limit({
  name: "git.request_bytes",
  total: 512 * 1024 ** 2,
  share: 128 * 1024 ** 2,
  whenFull: "refuse",
});

/**
 * All of a body, however it is encoded. What a large one holds in memory is its caller's until the answer is sent.
 *
 * @throws Refusal 413, 503 `service.busy`; HttpRefusal 400 `body.cut`, 408 `body.too_slow`, 415 for another encoding
 */
export async function wholeBody(ctx: Context, bytesMax: number): Promise<Buffer> {
  const body = requestBody(ctx, bytesMax);
  const hold = requestBytes.take(0);
  whenClosed(ctx.res, hold.leave);
  const timer = setTimeout(() => body.destroy(tooSlow()), wholeBodyTimeoutMs);
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > largeBytesMin) hold.reach(bytes);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
  }
}

export type LargeBodyLimits = Readonly<{
  bytesMax: number;
  timeoutMs: number;
  slow: Readonly<{ bytesMin: number; withinMs: number }>;
}>;

/** Bodies that wait on the disk for their turn, and what one caller has there. */
const spooledBytes = new Limit({
  name: "http.spooled_bytes",
  total: 4 * 1024 ** 3,
  share: 512 * 1024 ** 2,
  whenFull: "refuse",
});

/**
 * Writes a body to the disk as it comes.
 *
 * @throws Refusal 413, 503 `service.busy` when too much of the caller is there; HttpRefusal 400 `body.cut`,
 *   408 `body.too_slow` when less comes than the limits say, 415 for another encoding
 */
export async function spooledBody(ctx: Context, limits: LargeBodyLimits): Promise<Spooled> {
  const { bytesMax, timeoutMs, slow } = limits;
  const body = requestBody(ctx, bytesMax);
  const { socket } = ctx.req;
  let before = socket.bytesRead;
  const timers = [
    setTimeout(() => body.destroy(tooSlow()), timeoutMs),
    setInterval(() => {
      const waits = !ctx.req.complete && ctx.req.readableLength === 0;
      if (waits && socket.bytesRead - before < slow.bytesMin) body.destroy(tooSlow());
      before = socket.bytesRead;
    }, slow.withinMs),
  ];
  try {
    return await spooled(body, spooledBytes.take(0));
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}

const tooSlow = () => new HttpRefusal(408, "body.too_slow", "The body took too long.");

export type ConnectionLimits = Readonly<{
  idleMs: number;
  totalMs: number;
  /** Fewest bytes that must move while the service waits for the client: for its body, or to read. */
  slow?: Readonly<{ bytesMin: number; withinMs: number }>;
}>;

/**
 * Cuts the connection when nothing has moved on it for so long, when the client sends or reads too slowly, or
 * all of it took too long. Git itself sends something every few seconds while it works.
 *
 * @param end called when the client has its answer or is gone
 */
export function watchConnection(
  { req, res }: Context,
  limits: ConnectionLimits,
  end: () => void = () => undefined,
): void {
  const { socket } = req;
  const { slow } = limits;
  const begun = Date.now();
  let movedAt = begun;
  let moved = 0;
  let waited = { ms: 0, bytes: 0 };
  let lookedAt = begun;
  /** Waiting for the client, not the client for us: it has bytes to take, or to send and none here unread. */
  const waits = () => socket.writableLength > 0 || (!req.complete && req.readableLength === 0);
  const timer = setInterval(
    () => {
      const bytes = socket.bytesRead + socket.bytesWritten;
      const now = Date.now();
      if (bytes !== moved) movedAt = now;
      waited = waits()
        ? { ms: waited.ms + now - lookedAt, bytes: waited.bytes + bytes - moved }
        : { ms: 0, bytes: 0 };
      [moved, lookedAt] = [bytes, now];
      const isOver = slow !== undefined && waited.ms >= slow.withinMs;
      const isSlow = isOver && waited.bytes < slow.bytesMin;
      if (isOver) waited = { ms: 0, bytes: 0 };
      if (isSlow || now - movedAt > limits.idleMs || now - begun > limits.totalMs) socket.destroy();
    },
    Math.min(checkMs, limits.idleMs / 2, (slow?.withinMs ?? Number.POSITIVE_INFINITY) / 2),
  );
  timer.unref();
  whenClosed(res, () => {
    clearInterval(timer);
    end();
  });
}
