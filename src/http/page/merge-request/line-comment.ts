import { pathLengthMax } from "../../core/schema.ts";
import { type Names, query as queryOf } from "../common/address.ts";
import { type Fields, textForm } from "../common/form.ts";
import type { TextLocation } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import type { Visit } from "../core/route.ts";
import type { ChangedFile, LineParts } from "../repository/diff.ts";
import { type LocalParams, requestPath } from "./address.ts";
import { type Discussion, discussionPiece, listedDiscussions } from "./discussion.ts";

/** Of the whole request so many are read, which may have come to other files than they began at. */
const anywhereMax = 100;
/** So many of the files on a page are shown at their lines; the page of discussions has all. */
const shownMax = 500;

type Line = ChangedFile["lines"][number];

/** The line that a form for a comment is open at; 0 where that side has no such line. */
export type OpenAt = Readonly<{ newLine: number; oldLine: number }>;

type LineCommentRequest = Readonly<{
  names: Names;
  params: LocalParams;
  location: TextLocation;
  mayChange: boolean;
}>;

/** What the changes of a merge request show at their lines. */
export type LineTalk = Readonly<{
  partsOf: (file: ChangedFile, page?: number, openAt?: OpenAt) => Promise<LineParts>;
  /** Says how to comment, and where the discussions are that are not shown. */
  hint: Html | undefined;
}>;

/** Discussions by the line they are about, and a form for another at the line that is open. */
export async function lineTalk(
  base: string,
  view: LineCommentRequest,
  files: readonly ChangedFile[],
  visit: Visit,
): Promise<LineTalk> {
  const { discussions, isWhole } = await discussionsOf(view.params, files, visit);
  const isLoggedIn = visit.session !== undefined;
  return {
    async partsOf(file, number = 0, openAt = undefined) {
      const pieces: (readonly [Discussion, Html])[] = [];
      for (const one of discussions.filter(({ rootNote }) => isIn(rootNote, file))) {
        pieces.push([one, await discussionPiece(base, one, { ...view, number: 0 }, visit)]);
      }
      const below = (line: Line) => {
        const own = pieces.filter(([{ rootNote }]) => isAt(rootNote, file, line));
        const isOpen = isLoggedIn && openAt !== undefined && isSame(openAt, line);
        const form = isOpen && commentForm(base, view, { file, line, number }, visit);
        return own.length > 0 || form ? html`${own.map(([, piece]) => piece)}${form}` : undefined;
      };
      if (!isLoggedIn) return { below };
      return {
        below,
        commentAt: (line) => `${changesAt(base, view, file, number, line)}#comment`,
      };
    },
    hint: html`${isLoggedIn && html`<p class="hint">The number of a line opens a form for a comment on it.</p>`}
${!isWhole && html`<p class="hint">The first ${shownMax} discussions of these files are shown at their lines, <a href="${base}${requestPath(view.names, view.params.localId)}">all of them</a> on their own page.</p>`}`,
  };
}

/** Those of the files that a page shows. */
async function discussionsOf(params: LocalParams, files: readonly ChangedFile[], visit: Visit) {
  const first = { number: 0, size: anywhereMax };
  const anywhere = await listedDiscussions(params, { page: first }, visit);
  if (anywhere.totalElements <= anywhereMax || files.length === 0) {
    return { discussions: anywhere.items, isWhole: true };
  }
  const paths = files.flatMap(({ newPath, oldPath }) => [newPath, oldPath]);
  const filePath = [...new Set(paths)].filter((path) => path !== noFile);
  const page = { number: 0, size: shownMax };
  const here = await listedDiscussions(params, { page, query: { filePath } }, visit);
  const all = new Map([...anywhere.items, ...here.items].map((one) => [one.rootNote.uuid, one]));
  return { discussions: [...all.values()], isWhole: here.totalElements <= shownMax };
}

const isSame = ({ newLine, oldLine }: OpenAt, line: Line): boolean =>
  newLine + oldLine > 0 &&
  line.type === "line" &&
  (line.addLineNumber ?? 0) === newLine &&
  (line.removeLineNumber ?? 0) === oldLine;

/** Written for the path of a file that is not there: added files have the same one before, and removed ones after. */
const noFile = "/dev/null";

const isIn = ({ newPath, oldPath }: Discussion["rootNote"], file: ChangedFile): boolean =>
  (newPath !== null && newPath !== noFile && newPath === file.newPath) ||
  (oldPath !== null && oldPath !== noFile && oldPath === file.oldPath);

function isAt(note: Discussion["rootNote"], file: ChangedFile, line: Line): boolean {
  if (line.type !== "line") return false;
  const { newPath, newLine, oldPath, oldLine } = note;
  if (newLine !== null) return newPath === file.newPath && newLine === line.addLineNumber;
  return oldLine !== null && oldPath === file.oldPath && oldLine === line.removeLineNumber;
}

function changesAt(
  base: string,
  view: LineCommentRequest,
  file: ChangedFile,
  page: number,
  line: Line,
) {
  const [newLine, oldLine] = [line.addLineNumber ?? 0, line.removeLineNumber ?? 0];
  const query = queryOf({ filePath: file.filePath, page: page || undefined, newLine, oldLine });
  return `${base}${requestPath(view.names, view.params.localId)}/changes${query}`;
}

type Place = Readonly<{ file: ChangedFile; line: Line; number: number }>;

function commentForm(
  base: string,
  { names, params }: LineCommentRequest,
  { file, line, number }: Place,
  visit: Visit,
): Html {
  const to = `${base}/page${requestPath(names, params.localId)}/comment`;
  const { newPath, oldPath, filePath } = file;
  const fields = {
    ...{ newPath, oldPath, filePath, filePage: String(number), lineId: line.id },
    newLine: String(line.addLineNumber ?? 0),
    oldLine: String(line.removeLineNumber ?? 0),
  };
  const label = `Comment on line ${line.addLineNumber ?? line.removeLineNumber} (Markdown)`;
  const form = { id: "comment", label, words: "Comment", fields };
  return html`<section class="comment" aria-label="New comment">${textForm(to, visit, form)}</section>`;
}

/** Where a comment leads to: the line that it is about, or the discussions. */
export function afterComment(params: LocalParams, fields: Fields): string {
  const { filePath, filePage, lineId = "" } = fields;
  const at = requestPath(params, params.localId);
  if (!filePath || filePath.length > pathLengthMax) return at;
  const page = /^[1-9]\d{0,6}$/.test(filePage ?? "") ? filePage : undefined;
  const anchor = /^[\w-]{1,100}$/.test(lineId) ? `#l-${lineId}` : "";
  return `${at}/changes${queryOf({ filePath, page })}${anchor}`;
}
