import type { PayloadBuilder } from "./webhook-payload.ts";
import { deliveryPayload } from "./webhook-payload-delivery.ts";
import { memberPayload } from "./webhook-payload-member.ts";
import { repositoryPayload } from "./webhook-payload-repository.ts";

/** Everything webhooks can hear of. No event type is in two of them. */
export const payloadBuilders: readonly PayloadBuilder[] = [
  deliveryPayload,
  memberPayload,
  repositoryPayload,
];
