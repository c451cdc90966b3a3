import { z } from "zod";

import { WebhookDeliveryId, WebhookId } from "../events/ids.ts";
import { deterministicId } from "../platform/deterministic-id.ts";
import type { Job } from "../platform/queue.ts";
import { attempt, type Next } from "./webhook-attempt.ts";
import { deliveryQueue, retryQueue } from "./webhook-dispatch.ts";
import { claimFirst, endFirst, endRetry } from "./webhook-outbox.ts";
import { defineWorker } from "./worker.ts";

/**
 * Makes the first attempt at the delivery that is the head of a webhook's line, whichever delivery
 * the job was added for, and calls the next one. So one webhook's deliveries start one after
 * another, and webhooks take turns: each job does one delivery.
 */
export const webhookDeliveryWorker = defineWorker({
  queue: deliveryQueue,
  concurrency: 20,
  payload: z.object({
    webhookId: WebhookId,
    /** Names the job, so that it gets back what it had claimed before a crash. */
    turn: z.uuid(),
  }),
  async run({ webhookId, turn }, deps, signal) {
    const { db, queues } = deps;
    const deliveryId = await claimFirst(db, webhookId, turn, deps.now());
    if (deliveryId === undefined) return;
    const next = await attempt(deliveryId, 1, deps, signal);
    // Before it leaves the line: after a crash in between, the claim leads back here.
    if (next !== undefined) await queues.add([retryJob(deliveryId, next, deps.now())]);
    const following = await endFirst(db, webhookId, deliveryId, next?.at);
    if (following !== undefined) {
      await queues.add([turnJob(webhookId, deterministicId("turn", deliveryId, following))]);
    }
  },
});

/** Makes the later attempts, each when its time has come. */
export const webhookRetryWorker = defineWorker({
  queue: retryQueue,
  concurrency: 20,
  payload: z.object({ deliveryId: WebhookDeliveryId, attempt: z.int().min(2) }),
  async run({ deliveryId, attempt: number }, deps, signal) {
    const next = await attempt(deliveryId, number, deps, signal);
    if (next !== undefined) await deps.queues.add([retryJob(deliveryId, next, deps.now())]);
    await endRetry(deps.db, deliveryId, next?.at);
  },
});

/** A job that looks after the head of a webhook's line. */
export function turnJob(webhookId: string, turn: string): Job {
  return { queue: deliveryQueue, id: turn, data: { webhookId, turn } };
}

export function retryJob(deliveryId: string, next: NonNullable<Next>, now: Date): Job {
  return {
    queue: retryQueue,
    id: deterministicId("retry", deliveryId, next.attempt),
    data: { deliveryId, attempt: next.attempt },
    delayMs: next.at.getTime() - now.getTime(),
  };
}
