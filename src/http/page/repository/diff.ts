import type { z } from "zod";
import type { ChangedFileView } from "../../api/repository/changed-file-view.ts";
import { seen } from "../common/piece.ts";
import { Html, html } from "../core/html.ts";

export type ChangedFile = z.output<typeof ChangedFileView>;
type Line = ChangedFile["lines"][number];

/** Lines of all files together on one page, and of one file that is shown alone. */
export const openLinesMax = 2_000;
export const aloneLinesMax = 3_000;
const lineLengthMax = 2_000;

const words: Readonly<Record<ChangedFile["changeType"], string>> = {
  ADD: "added",
  MODIFY: "changed",
  DELETE: "removed",
  RENAME: "renamed",
  COPY: "copied",
};

export type FileDiff = Readonly<{
  file: ChangedFile;
  /** Without lines: the address that shows the file alone. */
  alone: string;
  /** Lines to show; undefined when they are not read for this page. */
  lines?: readonly Line[] | undefined;
  parts?: LineParts | undefined;
}>;

/** What a page adds to the lines of a diff. */
export type LineParts = Readonly<{
  /** What stands below a line. */
  below?: (line: Line) => Html | undefined;
  /** Address of a form for a comment on a line. */
  commentAt?: (line: Line) => string;
}>;

/** What changed in one file, as a table: numbers before and after, and the line. */
export function diffPiece({ file, alone, lines, parts = {} }: FileDiff): Html {
  const from =
    file.changeType === "RENAME"
      ? html`<span class="hint">${seen(file.oldPath)} →</span> `
      : undefined;
  return html`<details class="diff card" open><summary>${from}${seen(file.filePath)}
<span class="hint">${words[file.changeType]}</span> <span class="plus">+${file.addedLinesCount}</span> <span class="minus">−${file.removedLinesCount}</span></summary>
${contentOf(file, alone, lines, parts)}</details>`;
}

function contentOf(
  file: ChangedFile,
  alone: string,
  lines: readonly Line[] | undefined,
  { below, commentAt }: LineParts,
): Html {
  if (file.isBinary) return html`<p class="hint">Binary file.</p>`;
  if (lines === undefined) return html`<p class="hint"><a href="${alone}">Show the changes</a></p>`;
  if (lines.length === 0) {
    const isPast = (file.linesTotal ?? 0) > 0;
    const none = file.isLarge ? "The file is too large to be compared here." : "No line changed.";
    return html`<p class="hint">${isPast ? "There are no lines on this page." : none}</p>`;
  }
  return html`<div class="scroll code" role="region" aria-label="Changes in ${seen(file.filePath)}" tabindex="0"><table class="lines"><tbody>${lines.map(
    (line) => html`${lineOf(line, commentAt)}${talkRow(below?.(line))}`,
  )}</tbody></table></div>`;
}

const marks = { none: " ", add: "+", remove: "−" } as const;

const talkRow = (piece: Html | undefined): Html | undefined =>
  piece && html`<tr class="talk"><td colspan="4"><div>${piece}</div></td></tr>\n`;

function lineOf(line: Line, commentAt: LineParts["commentAt"]): Html {
  const { type, op, id, body, highLightBody, removeLineNumber, addLineNumber } = line;
  if (type === "separator") return html`<tr class="gap"><td colspan="4">${body}</td></tr>\n`;
  const isLong = body.length > lineLengthMax;
  // It is escaped.
  const content = isLong
    ? `${body.slice(0, lineLengthMax).toWellFormed()}…`
    : new Html(highLightBody);
  const link = (own: number | null) =>
    own !== null && commentAt
      ? html`<a href="${commentAt(line)}" aria-label="Comment on line ${own}">${own}</a>`
      : own;
  const [before, after] =
    addLineNumber === null
      ? [link(removeLineNumber), null]
      : [removeLineNumber, link(addLineNumber)];
  return html`<tr class="op-${op}" id="l-${id}"><td class="n">${before}</td><td class="n">${after}</td><td class="m">${marks[op]}</td><td><code>${content}</code></td></tr>
`;
}
