import { listSessions, type SeenSessionRow } from "../../../projections/access/session.ts";
import { idleSince } from "../../access/session.ts";
import { type Html, html } from "../core/html.ts";
import { time } from "../core/layout.ts";
import { formStart } from "../core/once.ts";
import type { LoggedIn, PageDeps } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";

const sessionsMax = 50;

/** Where the person is logged in, newest first. */
export async function sessionSection(
  visit: LoggedIn,
  deps: PageDeps,
): Promise<(base: string) => Html> {
  const of = { userId: visit.userId, seenSince: await idleSince(deps), limit: sessionsMax };
  const { rows, total } = await listSessions(deps.db, of);
  const shown = await Promise.all(rows.map((row) => opened(row, deps)));
  return (base) => html`<section aria-labelledby="sessions">
<h2 id="sessions">Sessions</h2>
${tableOf(
  "Sessions",
  ["Browser", "From", "Logged in", "Last seen", ""],
  shown.map(({ row: one, agent, ip }) =>
    row(
      html`${agent}${one.id === visit.session.id && html` <strong>(this one)</strong>`}`,
      ip,
      time(one.opened_at),
      time(one.seen_at),
      one.id !== visit.session.id && endForm(base, visit, one),
    ),
  ),
)}
${total > rows.length && html`<p class="hint">${total - rows.length} older ones are not shown.</p>`}
</section>`;
}

async function opened(row: SeenSessionRow, { vault }: PageDeps) {
  const agent = row.user_agent && (await vault.open(row.user_agent));
  return { row, agent: agent ?? "unknown", ip: row.ip && (await vault.open(row.ip)) };
}

function endForm(base: string, visit: LoggedIn, { id }: SeenSessionRow): Html {
  return html`<form method="post" action="${base}/console/session/${id}/end">${formStart(visit)}
<button class="quiet">End<span class="hidden"> session</span></button></form>`;
}
