import { Readable } from "node:stream";

import { Limit } from "../../platform/limit.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { StreamReply } from "./answer.ts";

/** Each stream queries the database twice a second; a browser opens two for a page. */
const streams = new Limit({
  name: "live.streams",
  total: 1_000,
  share: 16,
  whenFull: "refuse",
  refusal: () => {
    const message = "Too many of your streams are open. Close one, or try again later.";
    return new Refusal("too_many", "live.too_many", message, { retryAfterSeconds: 30 });
  },
});

/** Why a stream ended before what it is about did. */
type End = Readonly<{ code: string; message: string; position?: string }>;

/** The last event of a stream that ends early. */
export const endEvent = (end: End): string => `event: end\ndata: ${JSON.stringify(end)}\n\n`;

/**
 * Answers with server-sent events (HTML standard, section 9.2). Where the body fails with a refusal, because the caller
 * may not read it any longer, the last event has its code and message.
 *
 * @param body the events as text, each with the empty line that ends it
 * @param caller id of a user, who has a limited number of such answers at a time
 * @throws Refusal 429 `live.too_many`
 */
export function eventStream(
  body: AsyncGenerator<string>,
  caller: string,
): StreamReply & Readonly<{ body: Readable }> {
  const { leave } = streams.take(1, { caller });
  const stream = Readable.from(endingWithReason(body), { objectMode: false });
  // Also when it is destroyed before anything of it was read.
  stream.once("close", leave);
  return {
    body: stream,
    type: "text/event-stream",
    headers: { "X-Accel-Buffering": "no" },
  };
}

async function* endingWithReason(body: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    yield* body;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, message } = error;
    yield endEvent({ code, message });
  }
}
