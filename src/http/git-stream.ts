import { type Readable, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Context } from "koa";

import { Refusal } from "../platform/refusal.ts";
import { letSend } from "./continue.ts";
import { HttpRefusal } from "./errors.ts";

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
  letSend(ctx.req);
  let bytes = 0;
  const bounded = new Transform({
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

/**
 * Cuts the connection when nothing has moved on it for so long, or all of it took too long. Git itself
 * sends something every few seconds while it works.
 *
 * @param end called when the client has its answer or is gone
 */
export function watchConnection(
  { req: { socket }, res }: Context,
  limits: Readonly<{ idleMs: number; totalMs: number }>,
  end: () => void = () => undefined,
): void {
  const begun = Date.now();
  let movedAt = begun;
  let moved = 0;
  const timer = setInterval(() => {
    const bytes = socket.bytesRead + socket.bytesWritten;
    if (bytes !== moved) movedAt = Date.now();
    moved = bytes;
    const now = Date.now();
    if (now - movedAt > limits.idleMs || now - begun > limits.totalMs) socket.destroy();
  }, checkMs);
  timer.unref();
  const closed = (): void => {
    clearInterval(timer);
    end();
  };
  if (res.closed) closed();
  else res.once("close", closed);
}
