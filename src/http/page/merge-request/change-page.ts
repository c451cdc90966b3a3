import { z } from "zod";
import { ChangesView } from "../../api/merge-request/changes.ts";
import { MergeRequestView } from "../../api/merge-request/schema.ts";
import { CommitView } from "../../api/repository/commit-view.ts";
import { pathLengthMax } from "../../core/schema.ts";
import { query as queryOf } from "../common/address.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { brief, nothing } from "../common/piece.ts";
import { projectPage } from "../common/project-page.ts";
import { type Html, html } from "../core/html.ts";
import type { PageRoute, Visit } from "../core/route.ts";
import { alonePiece, commitTable, linePart } from "../repository/commit-page.ts";
import { type ChangedFile, diffPiece, openLinesMax } from "../repository/diff.ts";
import { at, type LocalParams, requestPath } from "./address.ts";
import { type LineTalk, lineTalk, type OpenAt } from "./line-comment.ts";
import { requestTabs } from "./request-page.ts";
import { requestRights } from "./rights.ts";

const filesMax = 20;

/** Of the line that a form is open at; 0 for none. */
const LineNumber = z.coerce.number().int().min(0).catch(0);

const showChanges = projectPage({
  path: `${at}/{localId}/changes`,
  operationId: "showMergeRequestChanges",
  query: z.object({
    filePath: z.string().max(pathLengthMax).optional(),
    page: PageNumber,
    newLine: LineNumber,
    oldLine: LineNumber,
  }),
  async show({ params, query, visit, names, project, lead, base }, deps) {
    const { title, localId } = await visit.operations.one("getMergeRequest", MergeRequestView, {
      params,
    });
    const address = `${base}${requestPath(names, localId)}/changes`;
    const location = { names, revision: project.defaultBranch };
    const { mayChange } = await requestRights(visit, params, deps);
    const talkOf = (files: readonly ChangedFile[]) =>
      lineTalk(base, { names, params, location, mayChange }, files, visit);
    const shown = { address, params, talkOf, operations: visit.operations };
    const { filePath } = query;
    const content =
      filePath === undefined
        ? await allPiece(shown, query.page)
        : await onePiece(shown, { ...query, filePath });
    return {
      title: `${brief(title)} (!${localId})`,
      lead: (of) =>
        html`${lead("merge-requests")(of)}${requestTabs(of, names, localId, "/changes")}`,
      body: () => content,
    };
  },
});

type Changes = Readonly<{
  address: string;
  params: LocalParams;
  talkOf: (files: readonly ChangedFile[]) => Promise<LineTalk>;
  operations: Visit["operations"];
}>;

async function allPiece(
  { address, params, talkOf, operations }: Changes,
  number: number,
): Promise<Html> {
  const query = { page: number, size: filesMax };
  const changes = await operations.one("getMergeRequestChanges", ChangesView, { params, query });
  const talk = await talkOf(changes.commitBlobs);
  const pieces: Html[] = [];
  let left = openLinesMax;
  for (const file of changes.commitBlobs) {
    const count = file.addedLinesCount + file.removedLinesCount;
    const isOpen = !file.isBinary && !file.isLarge && !file.isCollapsed && count <= left;
    const lines = isOpen
      ? (await changeOf(params, { filePath: file.filePath }, operations))?.lines
      : undefined;
    left -= lines?.length ?? 0;
    const alone = address + queryOf({ filePath: file.filePath });
    pieces.push(diffPiece({ file, alone, lines, parts: await talk.partsOf(file) }));
  }
  const total = changes.page.totalElements;
  const pages = pager({ address, number, size: filesMax, total });
  return html`<h2>${total} ${total === 1 ? "file" : "files"} changed,
<span class="plus">+${changes.totalAddedLines}</span> <span class="minus">−${changes.totalRemovedLines}</span></h2>
${talk.hint}${pages}${pieces}${pages}`;
}

async function changeOf(
  params: LocalParams,
  query: Readonly<{ filePath: string; lineOffset?: number; lineLimit?: number }>,
  operations: Visit["operations"],
) {
  const changes = await operations.one("getMergeRequestChanges", ChangesView, { params, query });
  return changes.commitBlobs[0];
}

type One = OpenAt & Readonly<{ filePath: string; page: number }>;

async function onePiece(
  { address, params, talkOf, operations }: Changes,
  { filePath, page, ...openAt }: One,
): Promise<Html> {
  const file = await changeOf(params, { filePath, ...linePart(page) }, operations);
  const back = html`<p><a href="${address}">All files of the merge request</a></p>`;
  if (file === undefined)
    return html`${back}${nothing("The merge request does not change this file now.")}`;
  const alone = address + queryOf({ filePath });
  const talk = await talkOf([file]);
  const parts = await talk.partsOf(file, page, openAt);
  return html`${back}${talk.hint}${alonePiece(file, alone, page, parts)}`;
}

const showCommits = projectPage({
  path: `${at}/{localId}/commits`,
  operationId: "showMergeRequestCommits",
  query: z.object({ page: PageNumber }),
  async show({ params, query: { page: number }, visit, names, lead, base }) {
    const { title, localId } = await visit.operations.one("getMergeRequest", MergeRequestView, {
      params,
    });
    const input = { params, page: { number, size: pageSize } };
    const listed = await visit.operations.list("listMergeRequestCommits", CommitView, input);
    const address = `${base}${requestPath(names, localId)}/commits`;
    return {
      title: `${brief(title)} (!${localId})`,
      lead: (of) =>
        html`${lead("merge-requests")(of)}${requestTabs(of, names, localId, "/commits")}`,
      body: () => html`<section>${listed.items.length === 0 ? nothing("No commits.") : commitTable(base, names, listed.items)}
${pager({ address, number, total: listed.totalElements })}</section>`,
    };
  },
});

export const requestChangePages: readonly PageRoute[] = [showChanges, showCommits];
