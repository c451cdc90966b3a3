import { listAuthorizedApplications } from "../../projections/oauth/authorization.ts";
import { type Html, html } from "../page/html.ts";
import { csrfField, time } from "../page/layout.ts";
import type { LoggedIn, PageDeps } from "../page/route.ts";

const applicationsMax = 100;

/** The applications the person has let in. */
export async function applicationSection(
  { userId, csrf }: LoggedIn,
  { db }: PageDeps,
): Promise<(base: string) => Html> {
  const of = { userId, limit: applicationsMax, offset: 0 };
  const { rows, total } = await listAuthorizedApplications(db, of);
  return (base) => html`<section aria-labelledby="applications">
<h2 id="applications">Applications</h2>
${rows.length === 0 && html`<p class="hint">You have let no application in.</p>`}
${
  rows.length > 0 &&
  html`<div class="scroll"><table>
<thead><tr><th>Name</th><th>May</th><th>Since</th><th>Last used</th><th></th></tr></thead>
<tbody>${rows.map(
    (row) => html`<tr>
<td>${row.name}</td><td>${row.scopes.join(", ")}</td><td>${time(row.first_at)}</td>
<td>${row.used_at === null ? "never" : time(row.used_at)}</td>
<td><form method="post" action="${base}/console/application/${row.application_id}/revoke">
${csrfField(csrf)}<button class="quiet">Shut out</button></form></td>
</tr>`,
  )}</tbody></table></div>`
}
${total > rows.length && html`<p class="hint">The first ${rows.length} of ${total}.</p>`}
</section>`;
}
