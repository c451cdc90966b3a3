import { z } from "zod";

import { IssueStatus } from "../../../events/issue/issue.ts";
import { CommentView } from "../../api/issue/comment.ts";
import { mayEditIssue, mustFindIssue } from "../../api/issue/issue.ts";
import { IssueView } from "../../api/issue/view.ts";
import type { Deps } from "../../core/deps.ts";
import { type Names, query as queryOf } from "../common/address.ts";
import { act, button, simpleAct, textForm } from "../common/form.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import {
  brief,
  labelPiece,
  noneListed,
  people,
  person,
  statusPiece,
  when,
} from "../common/piece.ts";
import { projectPage } from "../common/project-page.ts";
import { markdownPiece, pastNotice, type TextLocation } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import type { PageRoute, Visit } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { at, issuePath, issuesPath } from "./address.ts";

type Issue = z.output<typeof IssueView>;

/** Their longest texts fit on a page whole. */
const commentsSize = 30;

/** A field of a filter: an empty one filters nothing. */
export const Optional = z
  .string()
  .max(255)
  .optional()
  .transform((text) => (text === "" ? undefined : text));

const showIssues = projectPage({
  path: at,
  operationId: "showIssues",
  query: z.object({
    status: Optional,
    q: Optional,
    label: Optional,
    assignee: Optional,
    page: PageNumber,
  }),
  tab: "issues",
  async show({ params, query: { page: number, ...filter }, visit, names: of, base }) {
    const input = { params, query: filter, page: { number, size: pageSize } };
    const { items, totalElements: total } = await visit.operations.list(
      "listIssues",
      IssueView,
      input,
    );
    const address = base + issuesPath(of);
    const rows = items.map((issue) =>
      row(
        html`<a href="${base}${issuePath(of, issue.localId)}">#${issue.localId} ${brief(issue.title)}</a>
<div>${issue.labels.map(labelPiece)}</div>`,
        statusPiece(issue.status.id),
        people(base, issue.assignedUsers),
        when(issue.updatedAt),
      ),
    );
    return {
      title: "Issues",
      body: () => html`<section>${visit.session && html`<p class="actions"><a class="button" href="${base}/page${issuesPath(of)}/new">New issue</a></p>`}
${filterForm(address, IssueStatus.options, filter)}
${rows.length === 0 ? noneListed(["issue", "issues"], { filter, address, next: "Create one for a task or a defect." }) : tableOf("Issues", ["Issue", "Status", "Assigned", "Changed"], rows)}
${pager({ address: address + queryOf(filter), number, total })}</section>`,
    };
  },
});

type Filter = Readonly<Record<string, string | undefined>>;

/** A status and a part of the text to look for. */
export function filterForm(
  address: string,
  statuses: readonly string[],
  { status, q }: Filter,
): Html {
  return html`<form class="filter" method="get" action="${address}" role="search">
<div><label for="status">Status</label><select id="status" name="status"><option value="">any</option>${statuses.map(
    (id) =>
      html`<option value="${id}"${id === status && html` selected`}>${id.replaceAll("_", " ").toLowerCase()}</option>`,
  )}</select></div>
<div><label for="q">Text</label><input type="search" id="q" name="q" value="${q}" maxlength="255"></div>
<button class="quiet">Filter</button></form>`;
}

const showIssue = projectPage({
  path: `${at}/{localId}`,
  operationId: "showIssue",
  query: z.object({ page: PageNumber, asOf: Optional }),
  tab: "issues",
  async show({ params, query: { page: number, asOf }, visit, names: of, project, base }, deps) {
    const { operations } = visit;
    const issue = await operations.one("getIssue", IssueView, { params, asOf });
    const location = { names: of, revision: project.defaultBranch };
    const text = await markdownPiece(base, issue.description, location);
    const page = { number, size: commentsSize };
    const comments = await operations.list("listIssueComments", CommentView, {
      params,
      page,
      asOf,
    });
    const pieces = await commentPieces(base, comments.items, location);
    const mayEdit = asOf === undefined && (await mayEditHere(params, visit, deps));
    const now = base + issuePath(of, issue.localId);
    const address = now + queryOf({ asOf });
    const pages = pager({ address, number, size: commentsSize, total: comments.totalElements });
    return {
      title: `${brief(issue.title)} (#${issue.localId})`,
      body: () => html`${asOf !== undefined && pastNotice(now, asOf)}
<div class="two"><div><section aria-label="Description">${text}</section>
${pages}${pieces}${pages}${asOf === undefined && actions(base, of, issue, { visit, mayEdit })}</div>${sidePiece(base, issue)}</div>`,
    };
  },
});

async function commentPieces(
  base: string,
  comments: readonly z.output<typeof CommentView>[],
  location: TextLocation,
): Promise<readonly Html[]> {
  const pieces: Html[] = [];
  for (const { author, createdAt, message, truncated } of comments) {
    const words = await markdownPiece(base, message, location);
    pieces.push(
      html`<section class="comment" aria-label="Comment"><p class="about">${person(base, author)} ${when(createdAt)}</p>${words}${truncated && html`<p class="hint">This is the beginning of a long comment.</p>`}</section>`,
    );
  }
  return pieces;
}

function sidePiece(base: string, issue: Issue): Html {
  return html`<section class="side" aria-label="About"><dl>
<dt>Status</dt><dd>${statusPiece(issue.status.id)}</dd>
<dt>Assigned</dt><dd>${people(base, issue.assignedUsers)}</dd>
<dt>Labels</dt><dd>${issue.labels.length === 0 ? "–" : issue.labels.map(labelPiece)}</dd>
<dt>Created</dt><dd>${when(issue.createdAt)}</dd>
<dt>Changed</dt><dd>${when(issue.updatedAt)} by ${person(base, issue.updatedBy)}</dd></dl></section>`;
}

function actions(
  base: string,
  of: Names,
  { localId, status }: Issue,
  { visit, mayEdit }: Readonly<{ visit: Visit; mayEdit: boolean }>,
): Html | undefined {
  if (visit.session === undefined) return undefined;
  const to = `${base}/page${issuePath(of, localId)}`;
  const isOpen = status.id === "OPEN" || status.id === "IN_PROGRESS";
  return html`<section aria-label="Comment">
${textForm(`${to}/comment`, visit, { id: "comment", label: "Comment (Markdown)", words: "Comment" })}
${
  mayEdit &&
  html`<div class="actions"><a class="button quiet" href="${to}/edit">Edit</a>
${button(`${to}/status`, visit, isOpen ? "Close issue" : "Reopen issue", { fields: { status: isOpen ? "CLOSED" : "OPEN" } })}</div>`
}</section>`;
}

async function mayEditHere(
  params: Names & Readonly<{ localId: string }>,
  { session, operations }: Visit,
  deps: Deps,
): Promise<boolean> {
  if (session === undefined) return false;
  const request = await operations.project("getIssue", params);
  return mayEditIssue(await mustFindIssue(deps, request, Number(params.localId)), request);
}

const commentOn = simpleAct({
  path: `${at}/{localId}/comment`,
  operationId: "commentOnIssueByPage",
  apiOperation: "createIssueComment",
  textIs: "note",
  body: ({ text }) => ({ note: text ?? "" }),
  back: (params) => issuePath(params, params.localId),
});

/** Closes or opens it: an edit that leaves everything else as it is. */
const setStatus = act({
  path: `${at}/{localId}/status`,
  operationId: "setIssueStatusByPage",
  async run({ params, fields, visit }) {
    const body = { status: { id: fields["status"] } };
    await visit.operations.run("editIssue", { params, body });
  },
  back: (params) => issuePath(params, params.localId),
});

export const issuePages: readonly PageRoute[] = [commentOn, setStatus, showIssue, showIssues];
