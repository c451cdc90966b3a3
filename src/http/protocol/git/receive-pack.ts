import { PassThrough } from "node:stream";
import type { Context } from "koa";
import { pushBytesMax } from "../../../git/environment.ts";
import type { PackProcess } from "../../../git/pack-service.ts";
import type { GitAccess } from "../../../services/git/caller.ts";
import {
  carryOut,
  type PreparedPush,
  type PushDeps,
  preparePush,
} from "../../../services/git/push.ts";
import type { Caller } from "../../access/gate.ts";
import { peerOf, whenClosed } from "../../core/peer.ts";
import { stateOf } from "../../core/state.ts";
import { dropRest, requestBody } from "../../core/stream.ts";

type StartedWith = "denyForced" | "together" | "gate" | "inputBytesMax";

export type ReceivePack = GitAccess &
  Readonly<{
    /** Waits for a place to work in. */
    enter: () => Promise<void>;
    /** Starts git, once it is known what it may do. */
    start: (options: Pick<PreparedPush, StartedWith>) => PackProcess;
    stop: () => void;
    caller: Caller;
  }>;

/** Takes a push in by the request-and-answer form of HTTP. */
export async function receivePack(
  ctx: Context,
  { enter, start, stop, ...pusher }: ReceivePack,
  deps: PushDeps,
): Promise<void> {
  // A little more than git's own limit on the pack, so that git's message is the one that is seen.
  const body = requestBody(ctx, pushBytesMax + 64 * 1024 ** 2);
  ctx.type = "application/x-git-receive-pack-result";
  const { requestId } = stateOf(ctx);

  const prepared = await preparePush(body, { ...pusher, ip: peerOf(ctx), requestId }, deps, enter);
  if (Buffer.isBuffer(prepared)) {
    // A client still sending its pack would not see the answer.
    await dropRest(ctx);
    ctx.body = prepared;
    return;
  }
  const { denyForced, together, gate, inputBytesMax } = prepared;
  const child = start({ denyForced, together, gate, inputBytesMax });
  // Once the whole request has arrived, git ends within a moment.
  whenClosed(ctx.res, () => {
    if (!body.readableEnded) stop();
  });
  // Git may have refused before it read all.
  child.once("close", () => void dropRest(ctx));
  const answer = new PassThrough();
  ctx.body = answer;
  void carryOut({ ...prepared, child, stop, body, answer, requestId }, deps);
}
