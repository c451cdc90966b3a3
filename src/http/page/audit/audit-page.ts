import { z } from "zod";

import { IssueId } from "../../../events/issue/issue.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { subjectKinds } from "../../../projections/audit/subject.ts";
import { findIssueById } from "../../../projections/issue/list.ts";
import { findMergeRequestById } from "../../../projections/merge-request/merge-request-query.ts";
import { AuditEntryList, type AuditEntryView } from "../../api/audit/view.ts";
import { inverses } from "../../api/undo/inverses.ts";
import { filled, namesOf, paramsOf, projectPath, query as queryOf } from "../common/address.ts";
import { button, mayPress, simpleAct } from "../common/form.ts";
import { inProject } from "../common/frame.ts";
import { brief, nothing, seen, when } from "../common/piece.ts";
import { besides } from "../common/project-page.ts";
import { baseOf } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import { type PageRoute, page, type Visit } from "../core/route.ts";
import { Optional } from "../issue/issue-page.ts";

type Entry = z.output<typeof AuditEntryView>;
type Filter = Readonly<Record<string, string | undefined>>;

const size = 50;
const valueLengthMax = 2_000;

const Query = z.object({
  actor: Optional,
  kind: Optional,
  type: Optional,
  subject: Optional,
  correlationId: Optional,
  since: Optional,
  until: Optional,
  before: Optional,
  after: Optional,
});

type AuditScope = Readonly<{
  /** Of the operation and of the page. */
  path: `/${string}`;
  apiOperation: string;
  /** What takes an event of it back; none where there is no such operation. */
  undo?: string;
  title: string;
}>;

const auditScopes: readonly AuditScope[] = [
  {
    path: "/project/{ownerAlias}/{projectAlias}/audit",
    apiOperation: "listProjectAudit",
    undo: "undoInProject",
    title: "Audit",
  },
  {
    path: "/team/{teamAlias}/audit",
    apiOperation: "listTeamAudit",
    undo: "undoInTeam",
    title: "Audit of the team",
  },
  {
    path: "/company/{companyAlias}/audit",
    apiOperation: "listCompanyAudit",
    undo: "undoInCompany",
    title: "Audit of the company",
  },
  {
    path: "/admin/audit",
    apiOperation: "listAudit",
    title: "Audit of the instance",
  },
  {
    path: "/user/audit",
    apiOperation: "listOwnAudit",
    title: "Audit of my account",
  },
];

function auditPage(scope: AuditScope): PageRoute {
  const { path, apiOperation, undo, title } = scope;
  return page({
    ...besides,
    path,
    operationId: apiOperation.replace("list", "show"),
    params: paramsOf(path),
    query: Query,
    async handle({ params, query, visit }, deps) {
      const base = baseOf(deps);
      const input = { params, query: { ...query, size } };
      const { _embedded, page: cursor } = await visit.operations.one(
        apiOperation,
        AuditEntryList,
        input,
      );
      const at = filled(path, params);
      const mayUndo = undo !== undefined && (await mayPress(visit, undo, params));
      const undoAt = mayUndo ? `${base}/page${at}/undo` : undefined;
      const ways = { undo: undoAt, past: past(base, scope, at), visit };
      const { before, after, ...filter } = query;
      const entries = _embedded.auditEntryList;
      const older =
        cursor.before === null
          ? undefined
          : `${base}${at}${queryOf({ ...filter, before: cursor.before })}`;
      const isNewest = before === undefined && after === undefined;
      return {
        title,
        wide: true,
        ...(isOfProject(scope) && {
          lead: (await inProject(visit.operations, namesOf(params))).lead("audit"),
        }),
        body: () => html`${filterForm(base + at, filter)}
${entries.length === 0 && nothing("Nothing happened that fits.")}
${entries.map((entry) => entryPiece(base + at, entry, ways))}
<nav class="pager" aria-label="Pages">${!isNewest && html`<a href="${base}${at}${queryOf(filter)}">Newest</a>`}
${older !== undefined && html`<a rel="next" href="${older}">Older →</a>`}</nav>`,
      };
    },
  });
}

const isOfProject = ({ path }: AuditScope): boolean => path.includes("{projectAlias}");

function filterForm(address: string, filter: Filter): Html {
  const text = (name: string, label: string, type = "search") =>
    html`<div><label for="${name}">${label}</label><input type="${type}" id="${name}" name="${name}" value="${filter[name]}" maxlength="255"></div>`;
  return html`<form class="filter card" method="get" action="${address}" role="search">
${text("actor", "Who")}${text("type", "Event type")}
<div><label for="kind">About</label><select id="kind" name="kind"><option value="">anything</option>${subjectKinds.map(
    (kind) =>
      html`<option value="${kind}"${kind === filter["kind"] && html` selected`}>${kind}</option>`,
  )}</select></div>
${text("since", "Since", "date")}${text("until", "Until (before this day)", "date")}
<button class="quiet">Filter</button></form>`;
}

/** What can be done from an entry. */
type Ways = Readonly<{
  /** Of the form that takes an event back. */
  undo: string | undefined;
  /** Of the page of a thing as it was. */
  past: ((entry: Entry) => string | undefined) | undefined;
  visit: Visit;
}>;

const shownAsOf: ReadonlySet<string> = new Set(["ISSUE", "MERGE_REQUEST"]);

function past(base: string, scope: AuditScope, at: string): Ways["past"] {
  if (!isOfProject(scope)) return undefined;
  return ({ subject, position }) =>
    shownAsOf.has(subject.kind)
      ? `${base}/page${at}/${subject.kind}/${encodeURIComponent(subject.id)}/${position}`
      : undefined;
}

function waysPiece(entry: Entry, { undo, past: pastOf, visit }: Ways): Html | undefined {
  const then = pastOf?.(entry);
  const isUndone = undo !== undefined && Object.hasOwn(inverses, entry.type);
  if (then === undefined && !isUndone) return undefined;
  return html`<div class="actions">${then && html`<a href="${then}">As it was then</a>`}
${isUndone && button(undo, visit, "Undo", { fields: { eventId: entry.eventId } })}</div>`;
}

function entryPiece(address: string, entry: Entry, ways: Ways): Html {
  const { position, type, occurredAt, actor, tokenName, ip, subject, changes, correlationId } =
    entry;
  const who =
    actor.alias === null
      ? html`${actor.via}`
      : html`<a href="${address}${queryOf({ actor: actor.alias })}">${seen(actor.alias)}</a> (${actor.via})`;
  return html`<article class="card entry" aria-labelledby="e-${position}"><div class="top"><h2 id="e-${position}">${type}</h2>
<span>${who}</span>${tokenName !== null && html`<span>token ${seen(tokenName)}</span>`}
${ip !== null && html`<span>from ${seen(ip)}</span>`}${when(occurredAt)}</div>
<p class="hint">${subject.kind} ${subject.title !== null && seen(subject.title)}
<a href="${address}${queryOf({ subject: subject.id })}">all about it</a>
<a href="${address}${queryOf({ correlationId })}">same request</a></p>
${
  changes.length > 0 &&
  html`<details><summary>${changes.length} ${changes.length === 1 ? "change" : "changes"}: ${brief(changes.map(({ field }) => field).join(", "))}</summary>
${changes.map(
  ({ field, before, after }) =>
    html`<h3>${seen(field)}</h3><div class="sides"><div><p class="hint">Before</p>${valuePiece(before)}</div><div><p class="hint">After</p>${valuePiece(after)}</div></div>`,
)}</details>`
}${waysPiece(entry, ways)}</article>`;
}

function valuePiece(value: unknown): Html {
  if (value === undefined) return nothing("nothing");
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const cut = text.length > valueLengthMax ? `${text.slice(0, valueLengthMax)}…` : text;
  return html`<pre class="plain" tabindex="0">${cut.toWellFormed()}</pre>`;
}

/** Takes an event back; the audit, which it leads back to, begins with what was done. */
const undoForms = auditScopes.flatMap((scope) =>
  scope.undo === undefined
    ? []
    : simpleAct({
        path: `${scope.path}/undo`,
        operationId: `${scope.undo}ByPage`,
        params: paramsOf(scope.path),
        apiOperation: scope.undo,
        body: ({ eventId }) => ({ eventId: eventId ?? "" }),
        back: (params) => filled(scope.path, params),
      }),
);

/** From a thing that an entry names by its id to the thing's page, as it was at the entry. */
const showThen = page({
  method: "get",
  path: "/page/project/{ownerAlias}/{projectAlias}/audit/{kind}/{id}/{position}",
  operationId: "showThingAsOf",
  access: "session",
  params: z.object({
    ...{ ownerAlias: z.string(), projectAlias: z.string() },
    ...{ kind: z.string(), id: z.uuid(), position: z.string() },
  }),
  async handle({ params: { kind, id, position, ...names }, visit }, { db }) {
    const isIssue = kind === "ISSUE";
    const operationId = isIssue ? "listIssues" : "listMergeRequests";
    const { project } = await visit.operations.project(operationId, names);
    const row = isIssue
      ? await findIssueById(db, IssueId.parse(id))
      : await findMergeRequestById(db, id);
    if (row?.project_id !== project.id || !shownAsOf.has(kind)) {
      throw new Refusal("not_found", "subject.not_found", "The subject was deleted since.");
    }
    const at = `${projectPath(names)}/${isIssue ? "issue" : "merge-request"}/${row.local_id}`;
    return { redirect: at + queryOf({ asOf: position }) };
  },
});

export const auditPages: readonly PageRoute[] = [
  ...auditScopes.map(auditPage),
  ...undoForms,
  showThen,
];
