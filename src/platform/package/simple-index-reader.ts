import { Limiter } from "../limiter.ts";
import { TimedThread } from "../timed-thread.ts";
import {
  askSimpleIndex,
  type SimpleIndexAnswer,
  type SimpleIndexQuestion,
} from "./simple-index.ts";

/** What is smaller takes a few milliseconds where it is. */
const atOnceBytesMax = 128 * 1024;

const thread = new TimedThread<SimpleIndexQuestion, SimpleIndexAnswer>({
  program: "platform/package/simple-index-thread",
  ...{ startTimeoutMs: 60_000, timeoutMs: 30_000, mebibytesMax: 512, waitingMax: 16 },
});
/** Whoever waits here holds the list only. */
const turns = new Limiter(4);

/**
 * The same as `askSimpleIndex`; a large list is read in a thread.
 *
 * @returns undefined when it took too long or too much memory
 */
export async function readSimpleIndex(
  question: SimpleIndexQuestion,
): Promise<SimpleIndexAnswer | undefined> {
  if (question.bytes.length <= atOnceBytesMax) return askSimpleIndex(question);
  return await turns.run(() => thread.ask(question));
}
