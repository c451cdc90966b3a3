import { z } from "zod";

import { html } from "../../page/html.ts";
import { type PageRoute, page } from "../../page/route.ts";
import { DeliverySummaryView, WebhookView } from "../../webhook/view.ts";
import { type Names, projectPath } from "../common/address.ts";
import { button, simpleAct } from "../common/form.ts";
import { inProject } from "../common/frame.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { nothing, row, seen, statusPiece, tableOf, when } from "../common/piece.ts";
import { baseOf } from "../common/text.ts";

const at = "/project/{ownerAlias}/{projectAlias}/setting/webhook";
const names = { ownerAlias: z.string(), projectAlias: z.string() };
const OneParams = z.object({ ...names, id: z.string() });

const deliveriesPath = (of: Names, id: string): string =>
  `${projectPath(of)}/setting/webhook/${encodeURIComponent(id)}/delivery`;

const showWebhooks = page({
  method: "get",
  path: at,
  operationId: "showWebhooks",
  besides: true,
  access: "anonymous",
  params: z.object(names),
  query: z.object({ page: PageNumber }),
  async handle({ params, query: { page: number }, visit }, deps) {
    const { names: of, lead } = await inProject(visit.ask, params);
    const asked = { params, page: { number, size: pageSize } };
    const { items, totalElements } = await visit.ask.list("listWebhooks", WebhookView, asked);
    const base = baseOf(deps);
    const rows = items.map(({ id, url, active }) =>
      row(html`<a href="${base}${deliveriesPath(of, id)}">${seen(url)}</a>`, active ? "on" : "off"),
    );
    const address = `${base}${projectPath(of)}/setting/webhook`;
    return {
      title: "Webhooks",
      wide: true,
      lead: lead(),
      body: () => html`<section>${rows.length === 0 ? nothing("No webhooks.") : tableOf("Webhooks", ["Address", "State"], rows)}
${pager({ address, number, total: totalElements })}</section>`,
    };
  },
});

const showDeliveries = page({
  method: "get",
  path: `${at}/{id}/delivery`,
  operationId: "showWebhookDeliveries",
  besides: true,
  access: "anonymous",
  params: OneParams,
  query: z.object({ page: PageNumber }),
  async handle({ params, query: { page: number }, visit }, deps) {
    const { names: of, lead } = await inProject(visit.ask, params);
    const asked = { params, page: { number, size: pageSize } };
    const listed = await visit.ask.list("listWebhookDeliveries", DeliverySummaryView, asked);
    const address = baseOf(deps) + deliveriesPath(of, params.id);
    const to = `${baseOf(deps)}/page${deliveriesPath(of, params.id)}`;
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
      wide: true,
      lead: lead(),
      body: () => html`<section>${rows.length === 0 ? nothing("No deliveries.") : tableOf("Deliveries", head, rows)}
${pager({ address, number, total: listed.totalElements })}</section>`,
    };
  },
});

const redeliver = simpleAct({
  path: `${at}/{id}/delivery/{deliveryId}/redeliver`,
  operationId: "redeliverWebhookByPage",
  params: OneParams.extend({ deliveryId: z.string() }),
  asks: "redeliverWebhook",
  back: (params) => deliveriesPath(params, params.id),
});

export const webhookPages: readonly PageRoute[] = [redeliver, showDeliveries, showWebhooks];
