import { Limiter } from "../limiter.ts";
import { TimedThread } from "../timed-thread.ts";
import { askPackument, type PackumentAnswer, type PackumentQuestion } from "./packument.ts";

/** What is smaller takes a few milliseconds where it is. */
const atOnceBytesMax = 256 * 1024;
/** A document of 64 MiB takes some ten times as much while it is read. */
const limits = { startTimeoutMs: 60_000, timeoutMs: 60_000, mebibytesMax: 1_024, waitingMax: 16 };

const thread = new TimedThread<PackumentQuestion, PackumentAnswer>({
  program: "platform/package/packument-thread",
  ...limits,
});
/** Whoever waits here holds the document only. */
const turns = new Limiter(4);

/**
 * The same as `askPackument`; a large document is read in a thread.
 *
 * @returns undefined when it took too long or too much memory
 */
export async function readPackument(
  question: PackumentQuestion,
): Promise<PackumentAnswer | undefined> {
  if (question.bytes.length <= atOnceBytesMax) return askPackument(question);
  return await turns.run(() => thread.ask(question));
}
