import { z } from "zod";

import { MergeRequestView } from "../../api/merge-request/schema.ts";
import { projectPath, query as queryOf } from "../common/address.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { brief, labelPiece, noneListed, person, seen, statusPiece, when } from "../common/piece.ts";
import { besides, projectPage } from "../common/project-page.ts";
import { html } from "../core/html.ts";
import { type PageRoute, page } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { filterForm, Optional } from "../issue/issue-page.ts";
import { at, requestPath } from "./address.ts";

const statuses = ["OPENED", "MERGED", "CLOSED", "CANCELED", "FAILED"];

const showRequests = projectPage({
  path: `${at}/list`,
  operationId: "showMergeRequests",
  query: z.object({
    status: Optional,
    q: Optional,
    label: Optional,
    author: Optional,
    page: PageNumber,
  }),
  tab: "merge-requests",
  async show({ params, query: { page: number, ...filter }, visit, names: of, base }) {
    const input = { params, query: filter, page: { number, size: pageSize } };
    const listed = await visit.operations.list("listMergeRequests", MergeRequestView, input);
    const address = `${base}${projectPath(of)}/merge-request/list`;
    const rows = listed.items.map((request) =>
      row(
        html`<a href="${base}${requestPath(of, request.localId)}">!${request.localId} ${brief(request.title)}</a>
<div>${request.labels.map(labelPiece)}</div>`,
        statusPiece(request.status.id, request.status.title ?? request.status.id),
        person(base, request.createdBy),
        html`${seen(request.sourceBranch.id)} → ${seen(request.targetBranch.id)}`,
        when(request.updatedAt),
      ),
    );
    const head = ["Merge request", "Status", "Author", "Branches", "Changed"];
    return {
      title: "Merge requests",
      body: () => html`<section>${visit.session && html`<p class="actions"><a class="button" href="${base}/page${projectPath(of)}/merge-request/new">New merge request</a></p>`}
${filterForm(address, statuses, filter)}
${rows.length === 0 ? noneListed(["merge request", "merge requests"], { filter, address, next: "Push a branch, then ask here for it to be merged." }) : tableOf("Merge requests", head, rows)}
${pager({ address: address + queryOf(filter), number, total: listed.totalElements })}</section>`,
    };
  },
});

/** What people shorten the address of one to. */
const showAll = page({
  ...besides,
  path: at,
  operationId: "showAllMergeRequests",
  handle: async ({ params }) => ({ redirect: `${projectPath(params)}/merge-request/list` }),
});

export const requestListPages: readonly PageRoute[] = [showAll, showRequests];
