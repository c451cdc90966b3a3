import { TimedThread } from "./timed-thread.ts";

/** Beyond these a file is shown without colours. */
const textLengthMax = 512 * 1024;
const lineLengthMax = 10_000;
const waitingMax = 64;
const timeoutMsDefault = 1_500;
/** Until the thread has loaded the languages. */
const startTimeoutMs = 20_000;
/** A file a thread chokes on takes this, not the service's memory. */
const mebibytesMax = 256;

/**
 * HTML of each line. Null when there is none for such a text: its language is not known, or it is too
 * large. Undefined when there was none this time: it took too long, or too many were waiting.
 */
export type Coloured = readonly string[] | null | undefined;

/**
 * Colours source text by the name of its file, with spans of highlight.js classes and everything else
 * escaped, in a thread that is ended when it takes too long.
 */
export class Highlighter {
  readonly #thread: TimedThread<Readonly<{ text: string; fileName: string }>, Coloured>;

  constructor(timeoutMs = timeoutMsDefault) {
    const limits = { startTimeoutMs, timeoutMs, mebibytesMax, waitingMax };
    this.#thread = new TimedThread({ program: "platform/highlight-thread", ...limits });
  }

  lines(text: string, fileName: string): Promise<Coloured> {
    if (text === "" || text.length > textLengthMax || hasLongLine(text))
      return Promise.resolve(null);
    return this.#thread.ask({ text, fileName });
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}

function hasLongLine(text: string): boolean {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end;
    if (next - at > lineLengthMax) return true;
    at = next + 1;
  }
  return false;
}
