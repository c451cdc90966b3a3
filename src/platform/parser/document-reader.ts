import { ParserTask, type ParserTaskOptions } from "./parser.ts";
import { TooComplex } from "./refusal.ts";

type Options<Question, Answer> = Pick<ParserTaskOptions, "module" | "timeoutMs" | "mebibytesMax"> &
  Readonly<{
    parse: (question: Question) => Answer;
    /** What is smaller takes a few milliseconds where it is. */
    atOnceBytesMax: number;
  }>;

/** Clients of packages request many documents at a time. */
const perCallerMax = 32;
/** So that two callers do not keep all others from waiting; what they hold in memory has limits of its own. */
const waitingMax = 8 * perCallerMax;

/**
 * The same as `parse`, but a large document is read in a process, whose module exports the same function.
 *
 * @returns what answers undefined when a document takes too much time or memory
 * @throws ParserBusy
 */
export function documentReader<Question extends Readonly<{ bytes: Uint8Array }>, Answer>({
  parse,
  atOnceBytesMax,
  ...limits
}: Options<Question, Answer>): (question: Question) => Promise<Answer | undefined> {
  const task = new ParserTask<Question, Answer>({ ...limits, perCallerMax, waitingMax });
  return async (question) => {
    if (question.bytes.length <= atOnceBytesMax) return parse(question);
    try {
      return await task.run(question);
    } catch (error) {
      if (error instanceof TooComplex) return undefined;
      throw error;
    }
  };
}
