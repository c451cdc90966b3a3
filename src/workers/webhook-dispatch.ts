import { decode } from "../events/decode.ts";
import { idInStream } from "../events/stream.ts";
import { webhookEvents } from "../events/webhook.ts";
import { webhookDeliveryEvents } from "../events/webhook-delivery.ts";
import type { Reactor } from "./reactor.ts";
import { enqueue } from "./webhook-outbox.ts";

export const deliveryQueue = "webhook-delivery";
export const retryQueue = "webhook-retry";
export const replayQueue = "webhook-replay";

/** Puts scheduled deliveries in line, in the order of the log, and starts what was asked for. */
export const webhookDispatch: Reactor = {
  name: "webhook-dispatch",
  types: new Set(["WebhookDeliveryScheduled", "WebhookReplayRequested"]),
  async react(recorded, { db, now }) {
    if (recorded.type === "WebhookReplayRequested") {
      const event = decode(webhookEvents, recorded);
      if (event.type !== "WebhookReplayRequested") return [];
      const { replayId } = event.data;
      const data = { webhookId: idInStream(event.stream), replayId };
      return [{ queue: replayQueue, id: replayId, data }];
    }
    const event = decode(webhookDeliveryEvents, recorded);
    if (event.type !== "WebhookDeliveryScheduled") return [];
    const { deliveryId, webhookId } = event.data;
    const place = { deliveryId, webhookId, position: event.position, now: now() };
    if (!(await enqueue(db, place))) return [];
    return [{ queue: deliveryQueue, id: deliveryId, data: { webhookId, turn: deliveryId } }];
  },
};
