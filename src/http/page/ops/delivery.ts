import { findProjectById } from "../../../projections/project/project.ts";
import { troubledDeliveries } from "../../../projections/webhook/delivery.ts";
import type { Deps } from "../../core/deps.ts";
import { type Names, projectPath } from "../common/address.ts";
import { button, simpleAct } from "../common/form.ts";
import { formPages } from "../common/form-page.ts";
import { nothing, seen, statusPiece, when, word } from "../common/piece.ts";
import { lineField, sheetNotice, textOf } from "../common/sheet.ts";
import { baseOf } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import { formStart } from "../core/once.ts";
import type { PageRoute, Visit } from "../core/route.ts";
import { type Row, row, tableOf } from "../core/table.ts";

const operations = "/page/admin/operations";
const below = "/admin/operations/{ownerAlias}/{projectAlias}/webhook/{id}";

const pathOf = (of: Names, id: string): string =>
  `${operations}${projectPath(of).slice("/project".length)}/webhook/${encodeURIComponent(id)}`;

const shownMax = 50;

/** Deliveries that administrators of the instance may send again without a role in the project. */
export async function deliveriesPiece(base: string, visit: Visit, { db }: Deps): Promise<Html> {
  const deliveries = await troubledDeliveries(db, shownMax);
  if (deliveries.length === 0)
    return nothing("None: nothing failed lately, nothing is tried again.");
  const rows: Row[] = [];
  for (const one of deliveries) {
    const project = await findProjectById(db, one.project_id);
    if (project === undefined) continue;
    const { owner_alias: ownerAlias, alias: projectAlias } = project;
    const to = base + pathOf({ ownerAlias, projectAlias }, one.webhook_id);
    const cells = row(
      html`${seen(ownerAlias)}/${seen(projectAlias)}<div class="hint">to ${seen(new URL(one.hook_url).host)}</div>`,
      word(one.action),
      statusPiece(one.status),
      one.attempts,
      word(seen(one.abandoned_because ?? one.last_failure ?? String(one.last_status ?? ""))),
      when(one.created_at.toISOString()),
      html`<div class="actions">${button(`${to}/delivery/${one.id}/redeliver`, visit, "Send again")} <a href="${to}/replay">History again</a></div>`,
    );
    rows.push(cells);
  }
  const head = ["Project", "Event", "Status", "Attempts", "Failure", "Created", ""];
  return tableOf("Deliveries", head, rows);
}

const redeliver = simpleAct({
  path: `${below}/delivery/{deliveryId}/redeliver`,
  operationId: "redeliverWebhookByAdministrator",
  apiOperation: "redeliverWebhook",
  back: () => operations,
});

const replay = formPages({
  path: `${below}/replay`,
  operationIds: ["showWebhookReplayToAdministrator", "replayWebhookByAdministrator"],
  async show({ params, sheet, visit }, deps) {
    // Nothing of the project is shown; who may not replay sees no form.
    await visit.operations.project("replayWebhook", params);
    const base = baseOf(deps);
    const { ownerAlias, projectAlias } = params;
    const day = (name: string, label: string) =>
      lineField(sheet, { name, label, type: "date", required: true });
    return {
      title: "Send history again",
      wide: true,
      lead: (of) =>
        html`<nav class="crumbs" aria-label="Place"><a href="${of}${operations}">Operations</a></nav>`,
      body: () => html`<section>${sheetNotice(sheet, ["from", "to"])}
<p>Sends what happened in ${seen(ownerAlias)}/${seen(projectAlias)} to its webhook again, as new deliveries marked as a replay.</p>
<form method="post" action="${base}${visit.here.split("?", 1)[0]}">${formStart(visit)}
${day("from", "From the beginning of this day (UTC)")}${day("to", "Until the beginning of this day (UTC)")}
<p class="actions"><button>Send again</button> <a href="${base}${operations}">Cancel</a></p></form></section>`,
    };
  },
  async send({ params, typed, visit }) {
    const body = { from: textOf({ typed }, "from"), to: textOf({ typed }, "to") };
    await visit.operations.run("replayWebhook", { params, body });
    return operations;
  },
});

export const deliveryPages: readonly PageRoute[] = [...replay, redeliver];
