import { handle } from "../../commands/core/handle.ts";
import { webhookDelivery } from "../../commands/webhook/delivery.ts";
import type { Recorded } from "../../events/core/event.ts";
import { WebhookDeliveryId, type WebhookId } from "../../events/core/ids.ts";
import { projectSubject } from "../../events/project/project.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { findSettings } from "../../projections/instance/settings.ts";
import { addressesOf } from "../../projections/project/address.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { subscribedTo, subscribersIn } from "../../projections/webhook/webhook.ts";
import { causedBy } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { type Notification, payloadText } from "./payload.ts";
import { payloadBuilders } from "./payloads.ts";
import type { ProjectAt } from "./project-history.ts";

/**
 * Turns what happened in a project into deliveries to the webhooks that were subscribed to it. It
 * schedules them itself, one event after another, so that their order in the log is the order in
 * which things happened.
 */
export const webhookNotification: Reactor = {
  name: "webhook-notification",
  types: new Set(payloadBuilders.flatMap(({ types }) => [...types])),
  react: (event, deps) => reactAll([event], deps),
  reactAll,
};

/** Most projects have no webhooks, and one query shows it for many events. */
async function reactAll(events: readonly Recorded[], deps: WorkerDeps): Promise<readonly Job[]> {
  const notified = await Promise.all(
    events.map(async (event) => ({ event, notification: await notificationOf(event, deps) })),
  );
  const projectIds = new Set(notified.flatMap(({ notification }) => notification?.projectId ?? []));
  if (projectIds.size === 0) return [];
  await deps.visible(events.at(-1)?.position);
  const subscribers = await subscribersIn(deps.db, [...projectIds]);
  for (const { event, notification } of notified) {
    if (notification === undefined) continue;
    const { position } = event;
    const ids = subscribedTo(subscribers, { ...notification, position })
      .map(({ id }) => id)
      .filter((id) => id !== notification.exceptWebhookId);
    await notify(event, notification, ids, {}, deps);
  }
  return [];
}

export async function notificationOf(
  event: Recorded,
  deps: WorkerDeps,
): Promise<Notification | undefined> {
  const builder = payloadBuilders.find(({ types }) => types.has(event.type));
  return builder?.build(event, deps);
}

/** Which delivery notifies a webhook of an event: at once, or in a replay. */
export function deliveryIdOf(
  event: Pick<Recorded, "id">,
  webhookId: WebhookId,
  replayId?: string,
): WebhookDeliveryId {
  const id = deterministicId("webhook delivery", replayId ?? event.id, event.id, webhookId);
  return WebhookDeliveryId.parse(id);
}

type Occasion = Readonly<{
  replayId?: string;
  /** What the project was like when the event happened; as it is now when left out. */
  projectAt?: ProjectAt;
}>;

const webhooksAtOnce = 20;

/** Nearly always so; after a crash in between the append finds out. */
const newStream = {
  state: webhookDelivery.initialState,
  revision: "none",
  position: undefined,
} as const;

/**
 * Schedules one delivery to each webhook; repeated under the same occasion it changes nothing.
 *
 * @param occasion what makes it one delivery: the event itself, or a replay
 * @returns false when the project was deleted
 */
export async function notify(
  event: Recorded,
  { projectId, topic, fields }: Notification,
  webhookIds: readonly WebhookId[],
  occasion: Occasion,
  deps: WorkerDeps,
): Promise<boolean> {
  const { replayId, projectAt } = occasion;
  if (webhookIds.length === 0) return true;
  const found = await findProjectById(deps.db, projectId);
  if (found === undefined) return false;
  const project = { ...found, ...projectAt?.(event.position) };
  const addresses = addressesOf(deps, await findSettings(deps.db));
  const text = payloadText(topic, project, await fields(), addresses);
  const body = await deps.vault.seal(projectSubject(projectId), text);
  const schedule = async (webhookId: WebhookId): Promise<void> => {
    const deliveryId = deliveryIdOf(event, webhookId, replayId);
    const now = deps.now();
    const command = {
      type: "ScheduleDelivery",
      deliveryId,
      webhookId,
      projectId,
      action: topic,
      body,
      redeliveryOf: null,
      ...(replayId !== undefined && { replayId }),
      at: now.toISOString(),
    } as const;
    const metadata = causedBy(event, deterministicId("schedule", deliveryId), now);
    await handle(deps.store, webhookDelivery, { id: deliveryId, command, metadata }, newStream);
  };
  // Each webhook has a line of its own. Nothing is begun anew before all have ended.
  for (let from = 0; from < webhookIds.length; from += webhooksAtOnce) {
    const some = webhookIds.slice(from, from + webhooksAtOnce);
    const ends = await Promise.allSettled(some.map(schedule));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }
  return true;
}
