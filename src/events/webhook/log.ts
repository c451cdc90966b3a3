import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

export const webhookLogEvents = {
  /** Deliveries of all webhooks that ended before are shown no more. */
  WebhookLogPurged: z.object({ endedBefore: IsoInstant, purgedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type WebhookLogEvent = EventOf<typeof webhookLogEvents>;

/** One log for all webhooks of the instance. */
export const webhookLogId = "instance";
export const webhookLogStream = (id: string): string => streamName("webhookLog", id);
