import type { ServerHttp2Stream } from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import type { ServerReadableStream } from "@grpc/grpc-js";

import { invariant } from "../../platform/invariant.ts";

/**
 * A client in Node.js that cancels sends the end of its stream and the reset one right after the other, in
 * two writes: an end counts only when no reset follows it within this time.
 */
const resetWithinMs = 10;

/**
 * Whether the client ended its stream of messages in order. To a handler of grpc-js, a call that is
 * cut off can look the same: resetting a stream ends what is read from it. The transport distinguishes them
 * apart: only a frame with the flag END_STREAM closes the remote side of an open stream, and a
 * stream that was reset or lost its connection is destroyed or unknown to its session. To be called
 * once the last message was read; a call that is cut off after its end may count as cut off too.
 */
export async function endedInOrder(call: ServerReadableStream<unknown, unknown>): Promise<boolean> {
  const stream = transportOf(call);
  await delay(resetWithinMs);
  // What the socket holds by now is read before the check phase of the event loop.
  await new Promise(setImmediate);
  if (stream.destroyed || stream.aborted || stream.rstCode !== 0) return false;
  return stream.state.remoteClose === 1;
}

/** grpc-js offers no access to its transport; the tests notice when it moves. */
function transportOf(call: object): ServerHttp2Stream {
  const { call: inner } = call as { call?: { stream?: ServerHttp2Stream } };
  invariant(inner?.stream !== undefined, "a call of grpc-js holds its HTTP/2 stream");
  return inner.stream;
}
