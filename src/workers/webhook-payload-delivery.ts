import { decode } from "../events/decode.ts";
import { idInStream } from "../events/stream.ts";
import { webhookDeliveryEvents } from "../events/webhook-delivery.ts";
import type { PayloadBuilder } from "./webhook-payload.ts";

/**
 * WEBHOOK_SEND: a small record of each delivery of the project's other webhooks once it is over,
 * never of its own kind, or two such webhooks would keep each other busy for ever.
 */
export const deliveryPayload: PayloadBuilder = {
  types: new Set(["WebhookDeliverySucceeded", "WebhookDeliveryAttemptFailed"]),
  // A record of sending is not history of the project: it is not sent again.
  streams: async () => [],
  async build(recorded) {
    const { type, data } = decode(webhookDeliveryEvents, recorded);
    const over =
      type === "WebhookDeliverySucceeded" ||
      (type === "WebhookDeliveryAttemptFailed" && data.nextAttemptAt === null);
    if (!over || data.action === "WEBHOOK_SEND") return undefined;
    const { projectId, webhookId, action, attempt: attempts, status } = data;
    const delivered = type === "WebhookDeliverySucceeded";
    const deliveryId = idInStream(recorded.stream);
    return {
      projectId,
      topic: "WEBHOOK_SEND",
      exceptWebhookId: webhookId,
      fields: async () => ({
        webhook_send: {
          webhook_id: webhookId,
          delivery_id: deliveryId,
          event: action,
          delivered,
          status,
          attempts,
        },
      }),
    };
  },
};
