import { randomUUID } from "node:crypto";

import { handle } from "../../../src/commands/core/handle.ts";
import { webhookDelivery } from "../../../src/commands/webhook/delivery.ts";
import { webhook } from "../../../src/commands/webhook/webhook.ts";
import {
  type ProjectId,
  UserId,
  WebhookDeliveryId,
  WebhookId,
} from "../../../src/events/core/ids.ts";
import { projectSubject } from "../../../src/events/project/project.ts";
import type { WebhookAction } from "../../../src/events/webhook/delivery.ts";
import type { WebhookTopic } from "../../../src/events/webhook/webhook.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { metadataFor } from "../app/history.ts";
import { userId as anyUserId } from "./webhook.ts";

const by = UserId.parse(anyUserId);

export type WebhookSettings = Readonly<{
  projectId: ProjectId;
  url: string;
  secret?: string | null;
  topics?: readonly WebhookTopic[];
}>;

/** Makes a webhook by its command; visible before this returns. */
export async function givenWebhook(
  deps: WorkerDeps,
  { projectId, url, secret = "s3cret", topics = ["BRANCH_CREATE"] }: WebhookSettings,
): Promise<WebhookId> {
  const webhookId = WebhookId.parse(randomUUID());
  const sealed = secret === null ? null : await deps.vault.seal(projectSubject(projectId), secret);
  const command = {
    type: "CreateWebhook",
    webhookId,
    projectId,
    url,
    secret: sealed,
    topics,
    by,
    at: deps.now().toISOString(),
  } as const;
  const metadata = metadataFor(randomUUID());
  const { position } = await handle(deps.store, webhook, { id: webhookId, command, metadata });
  await deps.visible(position);
  return webhookId;
}

export async function deleteWebhook(
  { store, now }: WorkerDeps,
  projectId: ProjectId,
  webhookId: WebhookId,
): Promise<void> {
  const command = { type: "DeleteWebhook", projectId, by, at: now().toISOString() } as const;
  const metadata = metadataFor(randomUUID());
  await handle(store, webhook, { id: webhookId, command, metadata });
}

export type DeliverySettings = Readonly<{
  projectId: ProjectId;
  webhookId: WebhookId;
  body?: string;
  action?: WebhookAction;
}>;

/** Schedules a delivery by its command. */
export async function givenDelivery(
  deps: WorkerDeps,
  { projectId, webhookId, body = "{}", action = "BRANCH_CREATE" }: DeliverySettings,
): Promise<Readonly<{ deliveryId: WebhookDeliveryId; position: bigint }>> {
  const deliveryId = WebhookDeliveryId.parse(randomUUID());
  const command = {
    type: "ScheduleDelivery",
    deliveryId,
    webhookId,
    projectId,
    action,
    body: await deps.vault.seal(projectSubject(projectId), body),
    redeliveryOf: null,
    at: deps.now().toISOString(),
  } as const;
  const metadata = metadataFor(randomUUID());
  const order = { id: deliveryId, command, metadata };
  const { position = 0n } = await handle(deps.store, webhookDelivery, order);
  return { deliveryId, position };
}
