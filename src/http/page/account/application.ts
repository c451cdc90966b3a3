import { listAuthorizedApplications } from "../../../projections/oauth/authorization.ts";
import { type Html, html } from "../core/html.ts";
import { time } from "../core/layout.ts";
import { formStart } from "../core/once.ts";
import type { LoggedIn, PageDeps } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";

const applicationsMax = 100;

/** The applications the person has let in. */
export async function applicationSection(
  visit: LoggedIn,
  { db }: PageDeps,
): Promise<(base: string) => Html> {
  const of = { userId: visit.userId, limit: applicationsMax, offset: 0 };
  const { rows, total } = await listAuthorizedApplications(db, of);
  return (base) => html`<section aria-labelledby="applications">
<h2 id="applications">Applications</h2>
${rows.length === 0 && html`<p class="hint">No applications authorized.</p>`}
${
  rows.length > 0 &&
  tableOf(
    "Applications",
    ["Name", "May", "Since", "Last used", ""],
    rows.map((one) =>
      row(
        one.name,
        one.scopes.join(", "),
        time(one.first_at),
        one.used_at === null ? "never" : time(one.used_at),
        html`<form method="post" action="${base}/console/application/${one.application_id}/revoke">
${formStart(visit)}<button class="quiet">Revoke<span class="hidden"> access of ${one.name}</span></button></form>`,
      ),
    ),
  )
}
${total > rows.length && html`<p class="hint">The first ${rows.length} of ${total}.</p>`}
</section>`;
}
