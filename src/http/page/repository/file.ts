import { textLinesIn } from "../../../git/diff/patch.ts";
import { invariant } from "../../../platform/invariant.ts";
import { colouredFile } from "../../api/repository/coloured-line.ts";
import { isBinary, isImage } from "../../core/file/type.ts";
import {
  filePath,
  historyPath,
  type Names,
  projectPath,
  query,
  rawPath,
} from "../common/address.ts";
import { pager } from "../common/pager.ts";
import { size } from "../common/piece.ts";
import { markdownPiece } from "../common/text.ts";
import { Html, html } from "../core/html.ts";
import type { FoundEntry } from "./found.ts";

/** Lines of a file on one page. */
const linesMax = 3_000;
/** A longer line is cut: it is read by opening the raw file. */
const lineLengthMax = 5_000;
/** A larger file is not read for a page. */
const shownBytesMax = 8 * 1024 ** 2;

export type FileRequest = Readonly<{
  names: Names;
  revision: string;
  /** The source of a text that is shown rendered otherwise. */
  isPlain: boolean;
  /** Page of lines, from 0. */
  page: number;
}>;

const isMarkdown = (name: string): boolean => /\.(?:md|markdown|mdown)$/i.test(name);

/** A file: an image, a rendered text, or lines with numbers that can be linked to. */
export async function filePiece(
  base: string,
  found: FoundEntry,
  fileRequest: FileRequest,
): Promise<Html> {
  const { names, revision, isPlain } = fileRequest;
  const { repository, entry, path, parts } = found;
  invariant(entry !== undefined, "the entry was found");
  const info = await repository.objects.info(entry.id);
  if (info?.type !== "blob") return html`<p class="hint">The content is in another repository.</p>`;
  const name = parts.at(-1) ?? "";
  const about = actions(base, fileRequest, path, info.bytes, isMarkdown(name));
  if (info.bytes > shownBytesMax) {
    return html`${about}<p class="hint">The file is too large to be shown: download it.</p>`;
  }
  const content = (await repository.objects.blob(entry.id)) ?? Buffer.alloc(0);
  if (isImage(name, content)) {
    return html`${about}<p class="image"><img src="${base}${rawPath(names, revision, path)}" alt="${name}"></p>`;
  }
  if (isBinary(content)) {
    return html`${about}<p class="hint">This is a binary file: download it.</p>`;
  }
  if (isMarkdown(name) && !isPlain) {
    const location = { names, revision, directory: parts.slice(0, -1).join("/") };
    return html`${about}${await markdownPiece(base, content.toString("utf8"), location)}`;
  }
  const kind = entry.kind === "symlink" ? "120000" : "100644";
  const coloured = (await colouredFile(repository, kind, entry.id, path)) ?? [];
  return html`${about}${lines(base, content, coloured, fileRequest, path)}`;
}

function lines(
  base: string,
  content: Buffer,
  coloured: readonly string[],
  { names, revision, isPlain, page: number }: FileRequest,
  path: string,
): Html {
  const first = number * linesMax;
  const { lines: some, total } = textLinesIn(content, { first, count: linesMax });
  const plain = isPlain ? "&plain=1" : "";
  const address = `${base}${filePath(names, revision, path)}${plain}`;
  const pages = pager({ address, number, size: linesMax, total });
  return html`${pages}<div class="scroll code" role="region" aria-label="Lines" tabindex="0"><table class="lines"><tbody>${some.map(
    (text, index) => line(first + index + 1, text, coloured[first + index]),
  )}</tbody></table></div>${pages}`;
}

function line(number: number, text: string, coloured: string | undefined): Html {
  const isLong = text.length > lineLengthMax;
  const cut = isLong ? `${text.slice(0, lineLengthMax).toWellFormed()}…` : text;
  // What highlight.js makes is escaped.
  const content = coloured === undefined || isLong ? cut : new Html(coloured);
  return html`<tr id="L${number}"><td class="n"><a href="#L${number}" aria-label="Line ${number}">${number}</a></td><td><code>${content}</code></td></tr>
`;
}

function actions(
  base: string,
  { names, revision, isPlain }: FileRequest,
  path: string,
  bytes: number,
  isRendered: boolean,
): Html {
  const download = `${projectPath(names)}/blob/download${query({ commitHash: revision, file: path })}`;
  const here = base + filePath(names, revision, path);
  return html`<p class="actions"><span>${size(bytes)}</span>
${isRendered && html`<a href="${here}${isPlain ? "" : "&plain=1"}">${isPlain ? "Rendered" : "Source"}</a>`}
<a href="${base}${rawPath(names, revision, path)}">Raw</a>
<a href="${base}${download}">Download</a>
<a href="${base}${historyPath(names, revision, path)}">History</a></p>`;
}
