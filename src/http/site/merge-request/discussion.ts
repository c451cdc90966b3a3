import type { z } from "zod";

import { DiscussionView } from "../../merge-request/discussion.ts";
import { type Html, html } from "../../page/html.ts";
import type { Visit } from "../../page/route.ts";
import type { Names } from "../common/address.ts";
import { button, textForm } from "../common/form.ts";
import { pager } from "../common/pager.ts";
import { person, seen, when } from "../common/piece.ts";
import { markdownPiece, type Standing } from "../common/text.ts";
import { requestPath } from "./address.ts";

export type Discussion = z.output<typeof DiscussionView>;
type Note = Discussion["rootNote"];
type Params = Readonly<{ ownerAlias: string; projectAlias: string; localId: string }>;
type Asked = Readonly<{ names: Names; params: Params; standing: Standing; number: number }>;

const discussionsSize = 50;

/** The discussions of a merge request, oldest first. */
export const listedDiscussions = async (
  params: Params,
  page: Readonly<{ number: number; size: number }>,
  { ask }: Visit,
) => await ask.list("listDiscussions", DiscussionView, { params, page });

/** The discussions of a merge request, oldest first, each with a way to reply. */
export async function discussionsPiece(
  base: string,
  { names, params, standing, number }: Asked,
  visit: Visit,
): Promise<Html> {
  const page = { number, size: discussionsSize };
  const listed = await listedDiscussions(params, page, visit);
  const pieces: Html[] = [];
  for (const one of listed.items) {
    pieces.push(await discussionPiece(base, one, { names, params, standing, number }, visit));
  }
  const address = base + requestPath(names, params.localId);
  const total = listed.totalElements;
  return html`${pieces}${pager({ address, number, size: discussionsSize, total })}`;
}

export async function discussionPiece(
  base: string,
  { rootNote, replies }: Discussion,
  { names, params, standing }: Asked,
  visit: Visit,
): Promise<Html> {
  const to = `${base}/page${requestPath(names, params.localId)}`;
  const { uuid, resolved } = rootNote;
  const answers: Html[] = [];
  for (const reply of replies) {
    answers.push(html`<div class="reply">${await notePiece(base, reply, standing)}</div>`);
  }
  const reply = {
    id: `reply-${uuid}`,
    label: "Reply",
    words: "Reply",
    fields: { discussionUuid: uuid },
  };
  return html`<section class="comment" aria-label="Discussion" id="d-${uuid}">${placeOf(base, names, params.localId, rootNote)}
${await notePiece(base, rootNote, standing)}${answers}
${
  visit.session !== undefined &&
  html`<details><summary>Reply</summary>${textForm(`${to}/reply`, visit, reply)}</details>
<div class="actions">${button(`${to}/${resolved ? "unresolve" : "resolve"}`, visit, resolved ? "Take up again" : "Resolve", { fields: { discussionUuid: uuid } })}</div>`
}</section>`;
}

type Words = Pick<Note, "author" | "createdAt" | "message">;

async function notePiece(base: string, note: Words, standing: Standing): Promise<Html> {
  const words = await markdownPiece(base, note.message, standing);
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
