import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId, WebhookDeliveryId, WebhookId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";
import { WebhookTopic } from "./webhook.ts";

/** What a delivery is about: a topic of its webhook, or a test of it. */
export const WebhookAction = z.enum([...WebhookTopic.options, "TEST_WEBHOOK"]);
export type WebhookAction = z.output<typeof WebhookAction>;

/** Every event of a delivery says whose it is, so that a reader needs no other one. */
const Delivery = z.object({
  webhookId: WebhookId,
  projectId: ProjectId,
  action: WebhookAction,
});

const Attempt = Delivery.extend({
  /** From 1. */
  attempt: z.int().positive(),
  url: z.string(),
  startedAt: IsoInstant,
  /** From the start of the attempt; null when it did not come that far. */
  connectMs: z.int().nullable(),
  firstByteMs: z.int().nullable(),
  totalMs: z.int(),
});

export const webhookDeliveryEvents = {
  WebhookDeliveryScheduled: Delivery.extend({
    deliveryId: WebhookDeliveryId,
    /** JSON text exactly as it is sent; sealed, for it names people. */
    body: Sealed,
    /** The delivery whose body is sent again. */
    redeliveryOf: WebhookDeliveryId.nullable(),
    /** The replay that sends history again; left out of what is sent when it happens. */
    replayId: z.uuid().optional(),
    scheduledAt: IsoInstant,
  }),
  WebhookDeliverySucceeded: Attempt.extend({
    status: z.int(),
    /** Headers and the beginning of the body as JSON text. */
    response: Sealed,
  }),
  WebhookDeliveryAttemptFailed: Attempt.extend({
    /** Null when there was no answer. */
    status: z.int().nullable(),
    response: Sealed.nullable(),
    /** Stable and dotted: `status`, `timeout`, `url.address`, `connection.refused`, … */
    failure: z.string(),
    /** Null: it was the last one. */
    nextAttemptAt: IsoInstant.nullable(),
  }),
  /**
   * Not sent, or not sent again: the webhook is gone or switched off, the body was forgotten, the
   * replay was canceled, or the project is deleted.
   */
  WebhookDeliveryAbandoned: Delivery.extend({
    reason: z.enum([
      "webhook_deleted",
      "webhook_switched_off",
      "body_forgotten",
      "replay_canceled",
      "project_deleted",
    ]),
    abandonedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type WebhookDeliveryEvent = EventOf<typeof webhookDeliveryEvents>;

export const webhookDeliveryStream = (id: string): string => streamName("webhookDelivery", id);
