import { decode } from "../../events/core/decode.ts";
import { idInStream } from "../../events/core/stream.ts";
import { webhookDeliveryEvents } from "../../events/webhook/delivery.ts";
import type { PayloadBuilder } from "./payload.ts";

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
    const { projectId, webhookId, action, attempt, status, totalMs } = data;
    const deliveryId = idInStream(recorded.stream);
    return {
      projectId,
      topic: "WEBHOOK_SEND",
      exceptWebhookId: webhookId,
      fields: async () => ({
        delivery: {
          id: deliveryId,
          webhook_id: webhookId,
          event: action,
          attempt,
          status,
          duration_ms: totalMs,
        },
      }),
    };
  },
};
