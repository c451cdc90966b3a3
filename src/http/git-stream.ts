import { once } from "node:events";
import { type Readable, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Context } from "koa";

import { packetAt } from "../platform/git/pkt-line.ts";
import {
  type PushHead,
  PushMalformed,
  parsePushHead,
  pushHeadBytesMax,
} from "../platform/git/push-request.ts";
import { Refusal } from "../platform/refusal.ts";
import { HttpRefusal } from "./errors.ts";

/**
 * The request's body, inflated when it came as gzip, cut off beyond the limit: a small body can hold
 * a very large one.
 */
export function requestBody(ctx: Context, bytesMax: number): Readable {
  const encoding = ctx.get("content-encoding").toLowerCase();
  if (!["", "identity", "gzip", "x-gzip"].includes(encoding)) {
    throw new HttpRefusal(415, "body.encoding", "The body may be encoded with gzip only.");
  }
  let bytes = 0;
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= bytesMax) done(null, chunk);
      else done(new Refusal("too_large", "body.too_large", `The body is over ${bytesMax} bytes.`));
    },
  });
  const cut = (error: Error): void => void bounded.destroy(error);
  // The connection must stay open for the answer, so errors are passed on by hand, not by pipeline().
  bounded.on("error", () => undefined);
  ctx.req.once("close", () => {
    if (!ctx.req.complete) cut(new HttpRefusal(400, "body.cut", "The body was cut."));
  });
  if (!encoding.endsWith("gzip")) return ctx.req.pipe(bounded);
  const inflating = createGunzip();
  inflating.once("error", () =>
    cut(new Refusal("bad_request", "body.encoding", "The body is not the gzip it claims to be.")),
  );
  return ctx.req.pipe(inflating).pipe(bounded);
}

/** Takes the commands off the front of a push; the pack is left in the stream. */
export async function readPushHead(
  body: Readable,
): Promise<Readonly<{ head: PushHead; bytes: Buffer }>> {
  const front = new PushFront();
  for (;;) {
    const chunk = body.read() as Buffer | null;
    if (chunk !== null) {
      const end = front.push(chunk);
      if (end === undefined) continue;
      const rest = front.bytes.subarray(end);
      if (rest.length > 0) body.unshift(rest);
      const bytes = front.bytes.subarray(0, end);
      return { head: parsePushHead(bytes), bytes };
    }
    if (body.errored) throw body.errored;
    if (body.readableEnded || body.destroyed) throw new PushMalformed("the push broke off");
    await Promise.race([once(body, "readable"), once(body, "end"), once(body, "close")]);
  }
}

/** Gathers bytes up to the first flush packet; each is copied and looked at a bounded number of times. */
class PushFront {
  #store = Buffer.allocUnsafe(16 * 1024);
  #length = 0;
  #walked = 0;

  get bytes(): Buffer {
    return this.#store.subarray(0, this.#length);
  }

  /** @returns where the flush packet ends, once it is there */
  push(chunk: Buffer): number | undefined {
    const length = this.#length + chunk.length;
    if (length > this.#store.length) {
      const larger = Buffer.allocUnsafe(length * 2);
      this.bytes.copy(larger);
      this.#store = larger;
    }
    chunk.copy(this.#store, this.#length);
    this.#length = length;
    for (;;) {
      const next = packetAt(this.bytes, this.#walked);
      if (next.kind === "flush") return next.end;
      if (next.kind === "partial") break;
      this.#walked = next.end;
    }
    if (this.#length > pushHeadBytesMax) throw new PushMalformed("too many refs in one push");
    return undefined;
  }
}

const checkMs = 5_000;

/**
 * Calls `stop` when nothing has moved on the connection for so long, or all of it took too long.
 * Git itself sends something every few seconds while it works.
 */
export function watchConnection(
  ctx: Context,
  limits: Readonly<{ idleMs: number; totalMs: number }>,
  stop: () => void,
): void {
  const { socket } = ctx.req;
  const begun = Date.now();
  let movedAt = begun;
  let moved = 0;
  const timer = setInterval(() => {
    const bytes = socket.bytesRead + socket.bytesWritten;
    if (bytes !== moved) movedAt = Date.now();
    moved = bytes;
    const now = Date.now();
    if (now - movedAt > limits.idleMs || now - begun > limits.totalMs) stop();
  }, checkMs);
  timer.unref();
  ctx.res.once("close", () => clearInterval(timer));
}
