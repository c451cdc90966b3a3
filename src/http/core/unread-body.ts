import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { Context, Middleware } from "koa";

import { awaitsContinue } from "./expect-continue.ts";

/** A body that says it is smaller is read before the answer, so that the connection stays usable. */
const smallBytesMax = 256 * 1024;
/** How long the rest of a body is read and dropped for the sake of the answer. */
const lingerMsMax = 2_000;

export type LingerLimits = Readonly<{ smallBytesMax: number; lingerMsMax: number }>;
const lingerDefault: LingerLimits = { smallBytesMax, lingerMsMax };

/**
 * Lets the client read an answer that is ready before its body came in (403, 413, …). Closing a
 * connection that still receives data resets it, and the reset discards the answer on the client's
 * side (RFC 9112, 9.6). The rest of a small body is dropped before the answer is sent; with a larger
 * one the answer is sent first, and what still arrives is dropped for a while before the close.
 */
export function dropUnreadBody(limits: LingerLimits = lingerDefault): Middleware {
  return async (ctx, next) => {
    await next();
    if (ctx.req.complete || ctx.req.destroyed || ctx.headerSent) return;
    if (isLeftAlone(ctx)) {
      ctx.set("Connection", "close");
      return;
    }
    const text = textOf(ctx);
    if (text === undefined || isSmall(ctx, limits)) {
      await drained(ctx.req, limits.lingerMsMax);
      if (!ctx.req.complete) ctx.set("Connection", "close");
      return;
    }
    ctx.set("Connection", "close");
    ctx.body = Readable.from(thenDrain(text, ctx.req, limits.lingerMsMax));
    ctx.length = text.length;
  };
}

/** The whole body of the answer when it is at hand and the status and method allow one. */
function textOf({ body, method, status }: Context): Buffer | undefined {
  if (method === "HEAD" || status === 304 || status === 204) return undefined;
  if (typeof body === "string") return Buffer.from(body);
  return Buffer.isBuffer(body) ? body : undefined;
}

/** Where nothing is gained by dropping the body, or something is lost. */
function isLeftAlone({ req, body, status, respond }: Context): boolean {
  // An answer that is still being made may read the body itself: a push is answered like this.
  if (body instanceof Readable || respond === false) return true;
  return awaitsContinue(req) || status === requestTimeout;
}

/** The body has had its time already. */
const requestTimeout = 408;

function isSmall(ctx: Context, limits: LingerLimits): boolean {
  return Number(ctx.get("content-length") || Number.NaN) <= limits.smallBytesMax;
}

/** `Content-Length` ends the answer for the client; ours ends when nothing more is under way. */
async function* thenDrain(text: Buffer, request: IncomingMessage, timeoutMs: number) {
  yield text;
  await drained(request, timeoutMs);
}

/** Reads and drops the rest of the body: to its end, to the end of the connection, or for so long. */
async function drained(request: IncomingMessage, timeoutMs: number): Promise<void> {
  if (request.complete || request.destroyed) return;
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      request.off("end", settle).off("close", settle).off("error", settle);
      resolve();
    };
    const timer = setTimeout(settle, timeoutMs);
    request.on("end", settle).on("close", settle).on("error", settle);
    request.unpipe();
    request.resume();
  });
}
