import { Readable } from "node:stream";
import type { Context } from "koa";
import type { Logger } from "pino";

import type { UploadProcess } from "../platform/git/pack-service.ts";
import { requestBody } from "./git-stream.ts";
import { sendPieces } from "./send-pieces.ts";
import { stateOf } from "./state.ts";

export const resultType = "application/x-git-upload-pack-result";

/** What a client has and wants, in ids: enough for the largest repositories known. */
const requestBytesMax = 64 * 1024 ** 2;

/**
 * Streams the request to git and its answer back; a client that goes away ends git.
 *
 * @param input the request's body when it has been read
 */
export function uploadPack(
  ctx: Context,
  input: Buffer | undefined,
  { program: child, pieces }: Readonly<{ program: UploadProcess; pieces: AsyncIterable<Buffer> }>,
  stop: () => void,
  log: Logger,
): void {
  const body = input === undefined ? requestBody(ctx, requestBytesMax) : Readable.from(input);
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-1000);
  });
  child.once("close", (exitCode) => {
    if (exitCode === 0 || ctx.res.destroyed) return;
    const { requestId } = stateOf(ctx);
    log.info({ requestId, exitCode, stderr }, "git upload-pack ended early");
  });
  body.once("error", stop);
  ctx.res.once("close", stop);
  body.pipe(child.stdin);
  ctx.type = resultType;
  sendPieces(ctx, pieces);
}
