import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/** Whether a person receives mail about assignments and mentions; they do until they stop it. */
export const notificationPreferenceEvents = {
  NotificationMailStopped: z.object({ userId: UserId, stoppedAt: IsoInstant }),
  NotificationMailResumed: z.object({ userId: UserId, resumedAt: IsoInstant }),
} as const satisfies EventSchemas;

export const notificationPreferenceStream = (userId: string): string =>
  streamName("notificationPreference", userId);
