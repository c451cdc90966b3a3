import { randomUUID } from "node:crypto";

import type { Recorded } from "../../events/core/event.ts";
import { idInStream } from "../../events/core/stream.ts";
import { webhookDeliveryEvents } from "../../events/webhook/delivery.ts";
import { webhookEvents } from "../../events/webhook/webhook.ts";
import type { Job } from "../../platform/queue/queue.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { enqueue, type InLine } from "../../services/webhook/outbox.ts";
import type { Reactor } from "../core/reactor.ts";

export const deliveryQueue = "webhook-delivery";
export const retryQueue = "webhook-retry";
export const replayQueue = "webhook-replay";

/** Puts scheduled deliveries in line, in the order of the log, and starts requested replays. */
export const webhookDispatch: Reactor = {
  name: "webhook-dispatch",
  types: new Set(["WebhookDeliveryScheduled", "WebhookReplayRequested"]),
  react: (event, deps) => dispatch([event], deps),
  reactAll: dispatch,
};

async function dispatch(
  events: readonly Recorded[],
  { db, now }: WorkerDeps,
): Promise<readonly Job[]> {
  const scheduled = events.flatMap(inLine);
  const heads = await enqueue(db, scheduled, now());
  const first = scheduled.filter(({ deliveryId }) => heads.has(deliveryId));
  return [...events.flatMap(replayJob), ...first.map(({ webhookId }) => turnJob(webhookId))];
}

function inLine(recorded: Recorded): readonly InLine[] {
  if (recorded.type !== "WebhookDeliveryScheduled") return [];
  const { data, position } = recorded;
  const { deliveryId, webhookId } = webhookDeliveryEvents.WebhookDeliveryScheduled.parse(data);
  return [{ deliveryId, webhookId, position }];
}

/**
 * A job that works on a webhook's line from its head.
 *
 * @param turn a random id by default: a queue ignores a job whose id it knows, also one that is done, and a repeated
 *   step puts deliveries back in line that had left it. A turn too many finds nothing to do, a turn too few leaves the
 *   line waiting.
 */
export function turnJob(webhookId: string, turn: string = randomUUID()): Job {
  return { queue: deliveryQueue, id: turn, data: { webhookId, turn } };
}

function replayJob(recorded: Recorded): readonly Job[] {
  if (recorded.type !== "WebhookReplayRequested") return [];
  const { replayId } = webhookEvents.WebhookReplayRequested.parse(recorded.data);
  const data = { webhookId: idInStream(recorded.stream), replayId };
  // The worker names the jobs of the parts that follow after what they begin with.
  return [{ queue: replayQueue, id: replayId, data }];
}
