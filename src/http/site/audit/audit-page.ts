import { z } from "zod";

import { subjectKinds } from "../../../projections/audit/subject.ts";
import { AuditEntryList, type AuditEntryView } from "../../audit/view.ts";
import type { Ask } from "../../core/ask.ts";
import { type Html, html } from "../../page/html.ts";
import { type PageRoute, page } from "../../page/route.ts";
import { query as queryOf } from "../common/address.ts";
import { inProject } from "../common/frame.ts";
import { brief, nothing, seen, when } from "../common/piece.ts";
import { baseOf } from "../common/text.ts";
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

type Place = Readonly<{
  /** Of the operation and of the page. */
  path: `/${string}`;
  asks: string;
  operationId: string;
  title: string;
  params: readonly string[];
}>;

const places: readonly Place[] = [
  {
    path: "/project/{ownerAlias}/{projectAlias}/audit",
    asks: "listProjectAudit",
    operationId: "showProjectAudit",
    title: "Audit",
    params: ["ownerAlias", "projectAlias"],
  },
  {
    path: "/team/{teamAlias}/audit",
    asks: "listTeamAudit",
    operationId: "showTeamAudit",
    title: "Audit of the team",
    params: ["teamAlias"],
  },
  {
    path: "/company/{companyAlias}/audit",
    asks: "listCompanyAudit",
    operationId: "showCompanyAudit",
    title: "Audit of the company",
    params: ["companyAlias"],
  },
  {
    path: "/admin/audit",
    asks: "listAudit",
    operationId: "showAudit",
    title: "Audit of the instance",
    params: [],
  },
  {
    path: "/user/audit",
    asks: "listOwnAudit",
    operationId: "showOwnAudit",
    title: "Audit of my account",
    params: [],
  },
];

function auditPage({ path, asks, operationId, title, params: names }: Place): PageRoute {
  return page({
    method: "get",
    path,
    operationId,
    besides: true,
    access: "anonymous",
    params: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))),
    query: Query,
    async handle({ params, query, visit }, deps) {
      const base = baseOf(deps);
      const asked = { params, query: { ...query, size } };
      const { _embedded, page: cursor } = await visit.ask.one(asks, AuditEntryList, asked);
      const at = names.reduce(
        (text, name) => text.replace(`{${name}}`, encodeURIComponent(params[name] ?? "")),
        path as string,
      );
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
        ...(names.includes("projectAlias") && { lead: await projectLead(visit.ask, params) }),
        body: () => html`${filterForm(base + at, filter)}
${entries.length === 0 && nothing("Nothing happened that fits.")}
${entries.map((entry) => entryPiece(base + at, entry))}
<nav class="pager" aria-label="Pages">${!isNewest && html`<a href="${base}${at}${queryOf(filter)}">Newest</a>`}
${older !== undefined && html`<a rel="next" href="${older}">Older →</a>`}</nav>`,
      };
    },
  });
}

async function projectLead(ask: Ask, params: Readonly<Record<string, string>>) {
  const names = {
    ownerAlias: params["ownerAlias"] ?? "",
    projectAlias: params["projectAlias"] ?? "",
  };
  return (await inProject(ask, names)).lead("audit");
}

function filterForm(address: string, filter: Filter): Html {
  const text = (name: string, label: string, type = "search") =>
    html`<div><label for="${name}">${label}</label><input type="${type}" id="${name}" name="${name}" value="${filter[name]}" maxlength="255"></div>`;
  return html`<form class="filter card" method="get" action="${address}" role="search">
${text("actor", "Who")}${text("type", "Event type")}
<div><label for="kind">About</label><select id="kind" name="kind"><option value="">anything</option>${subjectKinds.map(
    (kind) =>
      html`<option value="${kind}"${kind === filter["kind"] && html` selected`}>${kind}</option>`,
  )}</select></div>
${text("since", "Since", "date")}${text("until", "As of (before this day)", "date")}
<button class="quiet">Filter</button></form>`;
}

function entryPiece(address: string, entry: Entry): Html {
  const { position, type, occurredAt, actor, tokenName, ip, subject, changes, correlationId } =
    entry;
  const who =
    actor.alias === null
      ? html`${actor.via}`
      : html`<a href="${address}${queryOf({ actor: actor.alias })}">${seen(actor.alias)}</a> (${actor.via})`;
  return html`<article class="card" aria-labelledby="e-${position}"><h2 id="e-${position}">${type}</h2>
<p class="actions"><span>${when(occurredAt)}</span> <span>${who}</span>${tokenName !== null && html`<span>token ${seen(tokenName)}</span>`}
${ip !== null && html`<span>from ${seen(ip)}</span>`}</p>
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
}</article>`;
}

function valuePiece(value: unknown): Html {
  if (value === undefined) return nothing("nothing");
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const cut = text.length > valueLengthMax ? `${text.slice(0, valueLengthMax)}…` : text;
  return html`<pre class="plain" tabindex="0">${cut.toWellFormed()}</pre>`;
}

export const auditPages: readonly PageRoute[] = places.map(auditPage);
