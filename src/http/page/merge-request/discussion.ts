import type { z } from "zod";

import { DiscussionView } from "../../api/merge-request/discussion.ts";
import { NoteView } from "../../api/merge-request/discussion-view.ts";
import { type Names, query as queryOf } from "../common/address.ts";
import { button, textForm } from "../common/form.ts";
import { pager } from "../common/pager.ts";
import { person, seen, when } from "../common/piece.ts";
import { markdownPiece, type TextLocation } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import type { Visit } from "../core/route.ts";
import { type LocalParams, requestPath } from "./address.ts";

export type Discussion = z.output<typeof DiscussionView>;
type Note = Discussion["rootNote"];
type DiscussionRequest = Readonly<{
  names: Names;
  params: LocalParams;
  location: TextLocation;
  number: number;
  /** As they were then, with nothing to press. */
  asOf?: string | undefined;
  /** Developers and the author of the request settle every discussion, others their own. */
  mayChange: boolean;
}>;

const discussionsSize = 50;

/** So many replies are shown beside other discussions; the page of one discussion has more. */
const repliesMax = 20;
/** A page of one discussion shows so many. */
const repliesAloneMax = 200;

/** The discussions of a merge request, oldest first. */
export const listedDiscussions = async (
  params: LocalParams,
  given: Readonly<{
    page: Readonly<{ number: number; size: number }>;
    asOf?: string | undefined;
    query?: Readonly<{ filePath: readonly string[] }>;
  }>,
  { operations }: Visit,
) => await operations.list("listDiscussions", DiscussionView, { params, ...given });

/** The discussions of a merge request, oldest first, each with a way to reply. */
export async function discussionsPiece(
  base: string,
  view: DiscussionRequest,
  visit: Visit,
): Promise<Html> {
  const { names, params, number, asOf } = view;
  const page = { number, size: discussionsSize };
  const listed = await listedDiscussions(params, { page, asOf }, visit);
  const pieces: Html[] = [];
  for (const one of listed.items) pieces.push(await discussionPiece(base, one, view, visit));
  const address = base + requestPath(names, params.localId) + queryOf({ asOf });
  const total = listed.totalElements;
  return html`${pieces}${pager({ address, number, size: discussionsSize, total })}`;
}

/** One discussion alone with a page of its replies, the oldest first. */
export async function oneDiscussionPiece(
  base: string,
  discussionUuid: string,
  view: DiscussionRequest,
  visit: Visit,
): Promise<Html> {
  const { names, params, number } = view;
  const first = number * repliesAloneMax;
  const given = { params: { ...params, discussionUuid }, query: { repliesFrom: first } };
  const rootNote = await visit.operations.one("getDiscussion", NoteView, given);
  const { repliesTotal: total } = rootNote;
  const shown = rootNote.replies.slice(0, repliesAloneMax);
  const left = Math.min(repliesAloneMax, Math.max(0, total - first)) - shown.length;
  const all = base + requestPath(names, params.localId);
  const address = `${all}?discussion=${discussionUuid}`;
  const piece = await piecesOf(
    base,
    rootNote,
    { ...view, replies: shown, earlier: undefined },
    visit,
  );
  const tooLong =
    left > 0 && html`<p class="hint">${left} more replies are too long for this page.</p>`;
  return html`<p><a href="${all}">All discussions of the merge request</a></p>${piece}${tooLong}${pager({ address, number, size: repliesAloneMax, total })}`;
}

/** A discussion with the last of its replies, and a link to all of them. */
export async function discussionPiece(
  base: string,
  { rootNote, replies }: Discussion,
  view: DiscussionRequest,
  visit: Visit,
): Promise<Html> {
  const { names, params, asOf } = view;
  const shown = asOf === undefined ? replies.slice(-repliesMax) : replies;
  const address = `${base}${requestPath(names, params.localId)}?discussion=${rootNote.uuid}`;
  const { repliesTotal, truncated } = rootNote;
  const earlier =
    shown.length < repliesTotal &&
    html`<p class="hint">The last ${shown.length} replies are shown, <a href="${address}">all ${repliesTotal}</a> on their own page.</p>`;
  const rest =
    truncated &&
    html`<p class="hint">This is the beginning, <a href="${address}">all of it</a> is on its own page.</p>`;
  return await piecesOf(
    base,
    rootNote,
    { ...view, replies: shown, earlier: html`${rest}${earlier}` },
    visit,
  );
}

type Shown = DiscussionRequest &
  Readonly<{ replies: readonly Words[]; earlier: Html | false | undefined }>;

async function piecesOf(
  base: string,
  rootNote: Note,
  { names, params, location, replies, earlier, asOf, mayChange }: Shown,
  visit: Visit,
): Promise<Html> {
  const to = `${base}/page${requestPath(names, params.localId)}`;
  const { uuid, resolved, author } = rootNote;
  const answers: Html[] = [];
  for (const reply of replies) {
    answers.push(html`<div class="reply">${await notePiece(base, reply, location)}</div>`);
  }
  const reply = {
    id: `reply-${uuid}`,
    label: "Reply",
    words: "Reply",
    fields: { discussionUuid: uuid },
  };
  return html`<section class="comment" aria-label="Discussion" id="d-${uuid}">${placeOf(base, names, params.localId, rootNote)}
${await notePiece(base, rootNote, location)}${earlier}${answers}
${
  visit.session !== undefined &&
  asOf === undefined &&
  html`<details><summary>Reply</summary>${textForm(`${to}/reply`, visit, reply)}</details>
${(mayChange || author.id === visit.userId) && html`<div class="actions">${button(`${to}/${resolved ? "unresolve" : "resolve"}`, visit, resolved ? "Take up again" : "Resolve", { fields: { discussionUuid: uuid } })}</div>`}`
}</section>`;
}

type Words = Pick<Note, "author" | "createdAt" | "message">;

async function notePiece(base: string, note: Words, location: TextLocation): Promise<Html> {
  const words = await markdownPiece(base, note.message, location);
  return html`<p class="about">${person(base, note.author)} ${when(note.createdAt)}</p>${words}`;
}

/** The file and the line that it is about. */
function placeOf(base: string, names: Names, localId: string, note: Note): Html {
  const { newPath, oldPath, newLine, oldLine, initialNewLine, outdated, resolved } = note;
  const state = html`${resolved && html`<span class="status s-success">resolved</span> `}${outdated && html`<span class="status">outdated</span> `}`;
  const path = newPath === "/dev/null" ? oldPath : newPath;
  if (path === null) return state;
  const line = newLine ?? oldLine ?? initialNewLine;
  const address = `${base}${requestPath(names, localId)}/changes?filePath=${encodeURIComponent(path.toWellFormed())}`;
  return html`<p>${state}<a href="${address}">${seen(path)}</a>${line !== null && `, line ${line}`}</p>`;
}
