import { z } from "zod";
import { DeliverySummaryView, WebhookView } from "../../api/webhook/view.ts";
import { type Names, projectPath } from "../common/address.ts";
import { button, simpleAct } from "../common/form.ts";
import { formPages } from "../common/form-page.ts";
import { inProject } from "../common/frame.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { empty, seen, statusPiece, when } from "../common/piece.ts";
import { projectPage } from "../common/project-page.ts";
import { boxes, lineField, sheetNotice, textOf } from "../common/sheet.ts";
import { baseOf } from "../common/text.ts";
import { html } from "../core/html.ts";
import { formStart } from "../core/once.ts";
import type { PageRoute } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";

const at = "/project/{ownerAlias}/{projectAlias}/setting/webhook";

const webhookPath = (of: Names, id: string): string =>
  `${projectPath(of)}/setting/webhook/${encodeURIComponent(id)}`;
const deliveriesPath = (of: Names, id: string): string => `${webhookPath(of, id)}/delivery`;

const showWebhooks = projectPage({
  path: at,
  operationId: "showWebhooks",
  query: z.object({ page: PageNumber }),
  async show({ params, query: { page: number }, visit, names: of, base }) {
    const input = { params, page: { number, size: pageSize } };
    const { items, totalElements } = await visit.operations.list(
      "listWebhooks",
      WebhookView,
      input,
    );
    const rows = items.map(({ id, url, active }) =>
      row(html`<a href="${base}${deliveriesPath(of, id)}">${seen(url)}</a>`, active ? "on" : "off"),
    );
    const address = `${base}${projectPath(of)}/setting/webhook`;
    return {
      title: "Webhooks",
      body: () => html`<section>${rows.length === 0 ? empty("No webhooks.", html`One is created by <code>POST ${projectPath(of)}/setting/webhook</code>.`) : tableOf("Webhooks", ["Address", "State"], rows)}
${pager({ address, number, total: totalElements })}</section>`,
    };
  },
});

const showDeliveries = projectPage({
  path: `${at}/{id}/delivery`,
  operationId: "showWebhookDeliveries",
  query: z.object({ page: PageNumber }),
  async show({ params, query: { page: number }, visit, names: of, base }) {
    const input = { params, page: { number, size: pageSize } };
    const listed = await visit.operations.list("listWebhookDeliveries", DeliverySummaryView, input);
    const address = base + deliveriesPath(of, params.id);
    const to = `${base}/page${deliveriesPath(of, params.id)}`;
    const rows = listed.items.map((one) =>
      row(
        one.event,
        statusPiece(one.status),
        one.attempts,
        one.responseStatus ?? "",
        seen(one.failure ?? ""),
        when(one.createdAt),
        visit.session && button(`${to}/${one.id}/redeliver`, visit, "Send again"),
      ),
    );
    const head = ["Event", "Status", "Attempts", "Answer", "Failure", "Created", ""];
    return {
      title: "Deliveries of a webhook",
      body: () => html`<section>${visit.session && html`<p class="actions"><a class="button quiet" href="${base}/page${webhookPath(of, params.id)}/replay">Send history again</a></p>`}
${rows.length === 0 ? empty("No deliveries.", "The next event that the webhook subscribes to is sent and listed here.") : tableOf("Deliveries", head, rows)}
${pager({ address, number, total: listed.totalElements })}</section>`,
    };
  },
});

const redeliver = simpleAct({
  path: `${at}/{id}/delivery/{deliveryId}/redeliver`,
  operationId: "redeliverWebhookByPage",
  apiOperation: "redeliverWebhook",
  back: (params) => deliveriesPath(params, params.id),
});

const replayFields = ["from", "to", "events"];

/** What happened in a time, sent again. */
const replay = formPages({
  path: `${at}/{id}/replay`,
  operationIds: ["showWebhookReplay", "replayWebhookByPage"],
  async show({ params, sheet, visit }, deps) {
    const { names: of, lead } = await inProject(visit.operations, params);
    const { events, url } = await visit.operations.one("getWebhook", WebhookView, { params });
    const topics = Object.keys(events).filter((topic) => events[topic] === true);
    const options = topics.map((value) => ({ value, words: value }));
    const to = baseOf(deps) + visit.here.split("?", 1)[0];
    const day = (name: string, label: string) =>
      lineField(sheet, { name, label, type: "date", required: true });
    return {
      title: "Send history again",
      wide: true,
      lead: lead(),
      body: () => html`<section>${sheetNotice(sheet, replayFields)}
<p>Sends what happened in the project again to <code>${seen(url)}</code>, as new deliveries marked as a replay.</p>
<form method="post" action="${to}">${formStart(visit)}
${day("from", "From the beginning of this day (UTC)")}${day("to", "Until the beginning of this day (UTC)")}
${boxes(sheet, { name: "events", label: "Events", options, hint: "None chosen: all of these." })}
<p class="actions"><button>Send again</button> <a href="${baseOf(deps)}${deliveriesPath(of, params.id)}">Cancel</a></p></form></section>`,
    };
  },
  async send({ params, typed, visit }) {
    const events = typed["events"];
    const [from, to] = [textOf({ typed }, "from"), textOf({ typed }, "to")];
    const body = { from, to, ...(events !== undefined && { events }) };
    await visit.operations.run("replayWebhook", { params, body });
    return deliveriesPath(params, params.id);
  },
});

export const webhookPages: readonly PageRoute[] = [
  ...replay,
  redeliver,
  showDeliveries,
  showWebhooks,
];
