import { Limiter } from "./limiter.ts";
import { TimedThread, type TimedThreadOptions } from "./timed-thread.ts";

type Options<Question, Answer> = Pick<
  TimedThreadOptions,
  "program" | "timeoutMs" | "mebibytesMax"
> &
  Readonly<{
    ask: (question: Question) => Answer;
    /** What is smaller takes a few milliseconds where it is. */
    atOnceBytesMax: number;
  }>;

/**
 * The same as `ask`, but a large document is read in a thread, whose program does the same. Four at a time have a
 * turn, and those that wait hold their document only.
 *
 * @returns what answers undefined when a document took too long or too much memory
 */
export function documentReader<Question extends Readonly<{ bytes: Uint8Array }>, Answer>({
  ask,
  atOnceBytesMax,
  ...limits
}: Options<Question, Answer>): (question: Question) => Promise<Answer | undefined> {
  const started = { startTimeoutMs: 60_000, waitingMax: 16 };
  const thread = new TimedThread<Question, Answer>({ ...limits, ...started });
  const turns = new Limiter(4);
  return async (question) =>
    question.bytes.length <= atOnceBytesMax
      ? ask(question)
      : await turns.run(() => thread.ask(question));
}
