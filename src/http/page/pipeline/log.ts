import { AnsiLines } from "../../../platform/ansi.ts";
import { breather } from "../../../platform/breather.ts";
import { wholeLines } from "../../../platform/job-log/line.ts";
import { logPieces } from "../../api/agent/log.ts";
import { type FoundLog, findLog } from "../../api/agent/log-source.ts";
import type { Deps } from "../../core/deps.ts";
import { seen } from "../common/piece.ts";
import { Html, html } from "../core/html.ts";

/** Bytes of a log on one page. */
const partBytes = 512 * 1024;
/** A part ends with a line, unless that is longer than this. */
const lineBytesMax = 64 * 1024;
const sectionsMax = 20;
const marksPerLineMax = 20;
/** The markup of a line takes a hundred bytes and more, also that of an empty one. */
const linesMax = 5_000;

/** Marks of sections, as runners of GitLab write them. */
const mark =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the mark ends with that which clears a line.
  /^section_(start|end):\d{1,15}:([\w.-]{1,200})(?:\[([^\]\r]{0,200})\])?\r?(?:\u001b\[0K)?/;

export type LogPart = Readonly<{
  piece: Html;
  /** From 0. */
  part: number;
  parts: number;
  /** Byte behind the last line of the part, and the number of that line, whether it is shown or not. */
  at: number;
  lines: number;
}>;

/**
 * A part of the log of a job.
 *
 * @param part from 0; the last when not given
 * @param isOver whether what stands behind the last newline is all of its line
 * @param whole address of the whole log
 */
export async function logPart(
  deps: Deps,
  key: Readonly<{ job_id: string; attempt: number }>,
  wanted: Readonly<{ part: number | undefined; isOver: boolean; whole: string }>,
): Promise<LogPart | undefined> {
  const found = await findLog(deps, key);
  const total = found?.bytes ?? 0;
  if (found === undefined || total === 0) return undefined;
  const parts = Math.ceil(total / partBytes);
  const part = Math.min(wanted.part ?? parts - 1, parts - 1);
  const { text, at } = await textOf(deps, found, part, parts, wanted.isOver);
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const piece = await linesPiece(lines, part, wanted.whole);
  return { piece, part, parts, at, lines: lines.length };
}

/** Whole lines: a part begins behind the first newline of its bytes and ends with that of the next. */
async function textOf(
  deps: Deps,
  found: FoundLog,
  part: number,
  parts: number,
  isOver: boolean,
): Promise<Readonly<{ text: string; at: number }>> {
  const begin = part * partBytes;
  const end = (part + 1) * partBytes;
  const chunks: string[] = [];
  let read = begin;
  for await (const { at, log } of logPieces(deps, found, begin)) {
    chunks.push(log);
    read = at;
    if (at > end + lineBytesMax) break;
  }
  const text = chunks.join("");
  const bytes = Buffer.from(text);
  const newline = (from: number): number => {
    const place = bytes.indexOf(10, from);
    return place < 0 || place > from + lineBytesMax ? from : place + 1;
  };
  const first = part === 0 ? 0 : newline(0);
  if (part < parts - 1) {
    const last = newline(partBytes);
    return { text: bytes.toString("utf8", first, last), at: begin + last };
  }
  const last = isOver ? bytes.length : bytes.lastIndexOf(10) + 1;
  const shown = bytes.toString("utf8", first, Math.max(first, last));
  return { text: shown, at: isOver ? read : begin + Math.max(first, last) };
}

/** The name that links use for a line. */
const lineId = (number: number, part: number): string =>
  part === 0 ? `L${number}` : `L${part}-${number}`;

/** One line with its number, as a link to it. */
export function linePiece(markup: string, { number, time }: NumberedLine, part: number): string {
  const id = lineId(number, part);
  // A time is digits and signs only: see logLine.
  const title = time === undefined ? "" : ` title="${time}"`;
  return `<div class="line" id="${id}"${title}><a class="n" href="#${id}" aria-label="Line ${number}">${number}</a><code>${markup}</code></div>\n`;
}

type NumberedLine = Readonly<{ number: number; time: string | undefined }>;

/** The first lines of a part, and how many more there are. */
export async function linesPiece(
  lines: readonly string[],
  part: number,
  whole: string,
): Promise<Html> {
  const shown = await sections(lines.slice(0, linesMax), part);
  const more = lines.length - linesMax;
  if (more <= 0) return shown;
  const count = `${more} more ${more === 1 ? "line" : "lines"}`;
  return html`${shown}<div class="line"><span class="n">…</span><code>${count} in the <a href="${whole}">whole log</a></code></div>
`;
}

type Mark = Readonly<{ opens: boolean; name: string; folded: boolean }>;

/** The marks that a line begins with, and the text behind them. */
function marksOf(line: string): Readonly<{ marks: readonly Mark[]; rest: string }> {
  const marks: Mark[] = [];
  let rest = line;
  for (let found = mark.exec(rest); found !== null; found = mark.exec(rest)) {
    const [all, kind, name = "", options = ""] = found;
    marks.push({ opens: kind === "start", name, folded: /\bcollapsed=true\b/.test(options) });
    rest = rest.slice(all.length);
    if (marks.length === marksPerLineMax) break;
  }
  return { marks, rest };
}

/** Lines, those of a section below its title, which folds them. */
async function sections(lines: readonly string[], part: number): Promise<Html> {
  const ansi = new AnsiLines();
  const breathe = breather();
  let open = 0;
  let markup = "";
  for (const line of wholeLines(lines)) {
    await breathe();
    const { marks, rest } = marksOf(line.text);
    const shown = ansi.line(rest);
    let isTitle = false;
    for (const [index, { opens, name, folded }] of marks.entries()) {
      if (opens && open < sectionsMax) {
        open += 1;
        isTitle = index === marks.length - 1;
        const title = isTitle && shown !== "" ? shown : html`${seen(name)}`.markup;
        markup += `<details${folded ? "" : " open"}><summary>${title}</summary>`;
      } else if (!opens && open > 0) {
        open -= 1;
        markup += "</details>";
      }
    }
    if (!isTitle && (marks.length === 0 || shown !== "")) markup += linePiece(shown, line, part);
  }
  // Every text in it was escaped.
  return new Html(markup + "</details>".repeat(open));
}
