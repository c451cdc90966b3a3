import { z } from "zod";

import { webhook } from "../../commands/webhook/webhook.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { WebhookId } from "../../events/core/ids.ts";
import { type WebhookEvent, webhookEvents, webhookStream } from "../../events/webhook/webhook.ts";
import { PermanentFailure } from "../../platform/queue.ts";
import { load } from "../core/caused-by.ts";
import type { WorkerDeps } from "../core/deps.ts";
import { defineWorker } from "../core/worker.ts";
import { replayQueue } from "./dispatch.ts";
import { notificationOf, notify } from "./notification.ts";
import { payloadBuilders } from "./payloads.ts";

/** The oldest of a time; what comes after them is asked for by a later beginning. */
const eventsMax = 10_000;

/**
 * Sends history again: every event of the time asked for becomes a new delivery, in the order in
 * which things happened. Stopped in the middle it starts over and schedules nothing twice.
 */
export const webhookReplayWorker = defineWorker({
  queue: replayQueue,
  concurrency: 2,
  payload: z.object({ webhookId: WebhookId, replayId: z.uuid() }),
  async run({ webhookId, replayId }, deps, signal) {
    const { state } = await load(deps.store, webhook, webhookId);
    if (state.status === "absent" || state.status === "deleted") return;
    const request = await findRequest(webhookId, replayId, deps);
    const { from, to, topics } = request.data;
    const streams = await Promise.all(
      payloadBuilders.map((builder) => builder.streams(state.projectId, deps)),
    );
    const events = await happened(streams.flat(), from, to, deps);
    for (const event of events) {
      signal.throwIfAborted();
      const notification = await notificationOf(event, deps);
      if (notification === undefined || !topics.includes(notification.topic)) continue;
      await notify(event, notification, [webhookId], { replayId }, deps);
    }
  },
});

type Request = Extract<WebhookEvent, { type: "WebhookReplayRequested" }>;

async function findRequest(
  webhookId: WebhookId,
  replayId: string,
  { store }: WorkerDeps,
): Promise<Request> {
  for await (const recorded of store.readStream(webhookStream(webhookId))) {
    const event = decode(webhookEvents, recorded);
    if (event.type === "WebhookReplayRequested" && event.data.replayId === replayId) return event;
  }
  throw new PermanentFailure(`No replay ${replayId} of webhook ${webhookId}`);
}

async function happened(
  streams: readonly string[],
  from: string,
  to: string,
  { store }: WorkerDeps,
): Promise<readonly Recorded[]> {
  const events: Recorded[] = [];
  for (const stream of new Set(streams)) {
    let found = 0;
    for await (const event of store.readStream(stream)) {
      const at = event.metadata.occurredAt;
      if (at < from || at >= to) continue;
      events.push(event);
      found += 1;
      if (found === eventsMax) break;
    }
  }
  return events.sort((a, b) => (a.position < b.position ? -1 : 1)).slice(0, eventsMax);
}
