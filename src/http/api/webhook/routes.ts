import type { Route } from "../../core/route.ts";
import { webhookDeliveryRoutes } from "./delivery.ts";
import { webhookReplayRoutes } from "./replay.ts";
import { webhookRoutes } from "./webhook.ts";

export const webhookSectionRoutes: readonly Route[] = [
  ...webhookDeliveryRoutes,
  ...webhookReplayRoutes,
  ...webhookRoutes,
];
