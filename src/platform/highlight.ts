import type { HighlightQuestion } from "./highlight-task.ts";
import { ParserTask } from "./parser/parser.ts";

/** Beyond these a file is shown without colours. */
const textLengthMax = 512 * 1024;
const lineLengthMax = 10_000;
const linesMax = 50_000;
const timeoutMsDefault = 1_500;

/**
 * HTML of each line. Null when there is none for such a text: its language is not known, or it is too
 * large. Undefined when there was none this time: it took too long, or too many were waiting.
 */
export type Coloured = readonly string[] | null | undefined;

/**
 * Colours source text by the name of its file, with spans of highlight.js classes and everything else
 * escaped, in a process that is ended when it takes too long.
 */
export class Highlighter {
  readonly #task: ParserTask<HighlightQuestion, Coloured>;

  constructor(timeoutMs = timeoutMsDefault) {
    const module = "platform/highlight-task";
    this.#task = new ParserTask({ module, timeoutMs, mebibytesMax: 256 });
  }

  lines(text: string, fileName: string): Promise<Coloured> {
    if (text === "" || text.length > textLengthMax || hasLongLines(text))
      return Promise.resolve(null);
    // Whatever went wrong, the text is shown without colours.
    return this.#task.run({ text, fileName }).catch(() => undefined);
  }
}

/** Or too many: each is a value in what the process sends. */
function hasLongLines(text: string): boolean {
  let lines = 0;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end;
    lines += 1;
    if (next - at > lineLengthMax || lines > linesMax) return true;
    at = next + 1;
  }
  return false;
}
