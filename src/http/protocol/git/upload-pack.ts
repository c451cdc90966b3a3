import type { Context } from "koa";
import type { Logger } from "pino";

import type { UploadProcess } from "../../../git/pack-service.ts";
import { sendPieces } from "../../core/file/send-pieces.ts";
import { whenClosed } from "../../core/peer.ts";
import { stateOf } from "../../core/state.ts";

export const resultType = "application/x-git-upload-pack-result";

/** What a client has and wants, in ids: enough for the largest repositories known. */
export const requestBytesMax = 64 * 1024 ** 2;

/**
 * Gives the request to git and streams its answer back; a client that goes away ends git.
 *
 * @param input the request's body
 */
export function uploadPack(
  ctx: Context,
  input: Buffer,
  { program: child, pieces }: Readonly<{ program: UploadProcess; pieces: AsyncIterable<Buffer> }>,
  stop: () => void,
  log: Logger,
): void {
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-1000);
  });
  child.once("close", (exitCode) => {
    if (exitCode === 0 || ctx.res.destroyed) return;
    const { requestId } = stateOf(ctx);
    log.info({ requestId, exitCode, stderr }, "git upload-pack ended early");
  });
  whenClosed(ctx.res, stop);
  child.stdin.end(input);
  ctx.type = resultType;
  sendPieces(ctx, pieces);
}
