import { randomUUID } from "node:crypto";

import type { Recorded } from "../../events/core/event.ts";
import { idInStream } from "../../events/core/stream.ts";
import { webhookDeliveryEvents } from "../../events/webhook/delivery.ts";
import { webhookEvents } from "../../events/webhook/webhook.ts";
import type { Job } from "../../platform/queue/queue.ts";
import type { WorkerDeps } from "../core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { enqueue, type InLine } from "./outbox.ts";

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
  const jobs = scheduled.filter(({ deliveryId }) => heads.has(deliveryId)).map(headJob);
  return [...events.flatMap(replayJob), ...jobs];
}

function inLine(recorded: Recorded): readonly InLine[] {
  if (recorded.type !== "WebhookDeliveryScheduled") return [];
  const { data, position } = recorded;
  const { deliveryId, webhookId } = webhookDeliveryEvents.WebhookDeliveryScheduled.parse(data);
  return [{ deliveryId, webhookId, position }];
}

/**
 * A repeated step puts deliveries back in line that had left it. The queue would ignore a job named
 * after the delivery, because that job is done, and the line would stand still.
 */
function headJob({ webhookId }: InLine): Job {
  const turn = randomUUID();
  return { queue: deliveryQueue, id: turn, data: { webhookId, turn } };
}

function replayJob(recorded: Recorded): readonly Job[] {
  if (recorded.type !== "WebhookReplayRequested") return [];
  const { replayId } = webhookEvents.WebhookReplayRequested.parse(recorded.data);
  const data = { webhookId: idInStream(recorded.stream), replayId };
  // The worker names the jobs of the parts that follow after what they begin with.
  return [{ queue: replayQueue, id: replayId, data }];
}
