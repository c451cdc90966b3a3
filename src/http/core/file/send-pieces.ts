import type { ServerResponse } from "node:http";
import type { Context } from "koa";
import { whenClosed } from "../peer.ts";

/**
 * Answers with pieces that are each valid only until the next is requested, which happens when the one before
 * has gone to the system. An error that comes after the first cuts the connection, which shows the client that
 * the answer is incomplete.
 */
export function sendPieces(ctx: Context, pieces: AsyncIterable<Buffer>): void {
  ctx.status = 200;
  // Koa would take a stream, which does not report when it has been read.
  ctx.respond = false;
  send(ctx.res, pieces).catch((error: Error) => {
    const begun = ctx.headerSent;
    ctx.onerror(error);
    if (begun) ctx.res.destroy();
  });
}

async function send(res: ServerResponse, pieces: AsyncIterable<Buffer>): Promise<void> {
  for await (const piece of pieces) await written(res, piece);
  res.end();
}

function written(res: ServerResponse, piece: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const closed = (): void => reject(new Error("The caller has gone"));
    if (res.destroyed) return closed();
    const takeBack = whenClosed(res, closed);
    res.write(piece, (error) => {
      takeBack();
      if (error) reject(error);
      else resolve();
    });
  });
}
