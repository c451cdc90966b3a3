import { Readable } from "node:stream";

import { CallerShare } from "../../platform/caller-share.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { StreamReply } from "./answer.ts";

/** Each stream queries the database twice a second; a browser opens two for a page. */
const share = new CallerShare(16);

/**
 * Answers with server-sent events (HTML standard, section 9.2).
 *
 * @param body the events as text, each with the empty line that ends it
 * @param caller id of a user, who has a limited number of such answers at a time
 * @throws Refusal 429 `live.too_many`
 */
export function eventStream(
  body: AsyncGenerator<string>,
  caller: string,
): StreamReply & Readonly<{ body: Readable }> {
  if (!share.hasRoom(caller)) {
    const message = "Too many of your streams are open. Close one, or try again later.";
    throw new Refusal("too_many", "live.too_many", message, { retryAfterSeconds: 30 });
  }
  share.take(caller);
  const stream = Readable.from(body, { objectMode: false });
  // Also when it is destroyed before anything of it was read.
  stream.once("close", () => share.giveBack(caller));
  return {
    body: stream,
    type: "text/event-stream",
    headers: { "X-Accel-Buffering": "no" },
  };
}
