import type { z } from "zod";

import { webhookDelivery } from "../../../commands/webhook/delivery.ts";
import { WebhookDeliveryId } from "../../../events/core/ids.ts";
import type { Sealed } from "../../../events/core/sealed.ts";
import { projectSubject } from "../../../events/project/project.ts";
import type { WebhookAction } from "../../../events/webhook/delivery.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  findWebhookDelivery,
  listAttempts,
  listWebhookDeliveries,
} from "../../../projections/webhook/delivery.ts";
import type { WebhookRow } from "../../../projections/webhook/webhook.ts";
import type { Deps } from "../../core/deps.ts";
import { oneBelow } from "../../core/one-below.ts";
import { listed } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { DeliverySummaryView, DeliveryView, deliveryView, summaryView } from "./view.ts";
import { mustBeOn, mustFindWebhook } from "./webhook.ts";

const path = "/project/{ownerAlias}/{projectAlias}/setting/webhook/{id}";
const guarded = { tag: "Webhooks", scope: "PROJECT_EDIT", access: "project:ADMIN" } as const;

type ProjectRequest = RequestFor<"project:ADMIN">;

const getDeliveries = route({
  ...guarded,
  method: "get",
  path: `${path}/delivery`,
  operationId: "listWebhookDeliveries",
  summary: "List the deliveries of a webhook, newest first",
  list: "webhookDeliveryList",
  reply: DeliverySummaryView,
  async handle({ params, page, request }, deps) {
    const { id } = await mustFindWebhook(deps, request, params.id);
    return listed(listWebhookDeliveries(deps.db, id, page), summaryView);
  },
});

const getDelivery = route({
  ...guarded,
  method: "get",
  path: `${path}/delivery/{deliveryId}`,
  operationId: "getWebhookDelivery",
  summary: "Get a delivery: what was sent, and what came of each attempt",
  reply: DeliveryView,
  async handle({ params, request }, deps) {
    const owner = await mustFindWebhook(deps, request, params.id);
    const row = await mustFindDelivery(deps, owner, params.deliveryId);
    return deliveryView(row, await listAttempts(deps.db, row.id), deps);
  },
});

const postTest = route({
  ...guarded,
  method: "post",
  path: `${path}/test`,
  operationId: "testWebhook",
  summary: "Send TEST_WEBHOOK to a webhook, also to one that was switched off",
  reply: DeliverySummaryView,
  async handle({ params, request }, deps) {
    const owner = await mustFindWebhook(deps, request, params.id);
    const text = JSON.stringify({ action: "TEST_WEBHOOK", project_id: owner.project_id });
    const body = await deps.vault.seal(projectSubject(owner.project_id), text);
    return schedule(deps, request, owner, { action: "TEST_WEBHOOK", body, redeliveryOf: null });
  },
});

const postRedelivery = route({
  ...guarded,
  method: "post",
  path: `${path}/delivery/{deliveryId}/redeliver`,
  operationId: "redeliverWebhook",
  orAdministrator: true,
  summary: "Send a delivery again, as a new one with the same body",
  reply: DeliverySummaryView,
  async handle({ params, request }, deps) {
    const owner = mustBeOn(await mustFindWebhook(deps, request, params.id));
    const { action, body, id } = await mustFindDelivery(deps, owner, params.deliveryId);
    return schedule(deps, request, owner, { action, body, redeliveryOf: id });
  },
});

export const webhookDeliveryRoutes: readonly Route[] = [
  getDeliveries,
  getDelivery,
  postRedelivery,
  postTest,
];

type Message = Readonly<{
  action: WebhookAction;
  body: Sealed;
  redeliveryOf: WebhookDeliveryId | null;
}>;

async function schedule(
  deps: Deps,
  request: ProjectRequest,
  owner: WebhookRow,
  message: Message,
): Promise<z.input<typeof DeliverySummaryView>> {
  const id = deterministicId(request.commandId, "webhook delivery");
  const deliveryId = WebhookDeliveryId.parse(id);
  const { id: webhookId, project_id: projectId } = owner;
  const whose = { deliveryId, webhookId, projectId };
  const at = deps.now().toISOString();
  const command = { type: "ScheduleDelivery", ...whose, ...message, at } as const;
  await request.execute(webhookDelivery, deliveryId, command);
  return summaryView(await mustFindDelivery(deps, owner, deliveryId));
}

/** @throws Refusal not_found, also for a delivery of another webhook */
const mustFindDelivery = oneBelow(
  findWebhookDelivery,
  () => new Refusal("not_found", "webhook_delivery.not_found", "Delivery not found."),
);
