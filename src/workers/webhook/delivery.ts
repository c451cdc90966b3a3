import { z } from "zod";

import { WebhookDeliveryId, WebhookId } from "../../events/core/ids.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { Job } from "../../platform/queue/queue.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import {
  claimFirst,
  type Ended,
  endFirst,
  endRetry,
  endTurn,
} from "../../services/webhook/outbox.ts";
import { defineWorker } from "../core/worker.ts";
import { attempt, type Next, settingsReader } from "./attempt.ts";
import { deliveryQueue, retryQueue, turnJob } from "./dispatch.ts";

/** A turn ends after so many deliveries or this long, to let other webhooks have theirs. */
const deliveriesPerTurn = 50;
const turnMsMax = 2_000;
/** Claimed together, and together taken out of the line. */
const deliveriesAtOnce = 10;

const Turn = z.object({
  webhookId: WebhookId,
  /** Names the job, so that it gets back what it had claimed before a crash. */
  turn: z.uuid(),
});

/** Receivers may be slow, or silent. */
const concurrency = 50;

/**
 * Makes the first attempts at the deliveries in a webhook's line, from its head on, whichever
 * delivery the job was added for. So one webhook's deliveries start one after another, and webhooks
 * take turns.
 */
export const webhookDeliveryWorker = defineWorker({
  queue: deliveryQueue,
  concurrency,
  payload: Turn,
  run: makeAttempts,
});

async function makeAttempts(
  { webhookId, turn: id }: z.output<typeof Turn>,
  deps: WorkerDeps,
  signal: AbortSignal,
): Promise<void> {
  const { db, queues } = deps;
  // A turn is short: what was changed meanwhile counts from the next one on.
  const settingsOf = settingsReader(deps);
  const turn = () => ({ id, now: deps.now() });
  const startedAt = performance.now();
  let made = 0;
  const isOver = () => made >= deliveriesPerTurn || performance.now() - startedAt > turnMsMax;

  let claimed = await claimFirst(db, webhookId, turn(), deliveriesAtOnce);
  while (claimed.length > 0) {
    const ended: Ended[] = [];
    for (const deliveryId of claimed) {
      const next = await attempt({ deliveryId, number: 1, settingsOf }, deps, signal);
      // Before it leaves the line: after a crash in between, the claim leads back here.
      if (next !== undefined) await queues.add([retryJob(deliveryId, next, deps.now())]);
      ended.push({ deliveryId, retryAt: next?.at });
      made += 1;
      if (isOver()) break;
    }
    if (isOver()) {
      // In this order: the next turn must find the line free. After a crash in between, this job
      // runs again and goes on itself.
      const head = await endTurn(db, webhookId, ended, id);
      if (head === undefined) return;
      await queues.add([turnJob(webhookId)]);
      return;
    }
    const claims = { turn: turn(), countMax: deliveriesAtOnce };
    claimed = await endFirst(db, webhookId, ended, claims);
  }
}

/** Makes the later attempts, each when its time has come. */
export const webhookRetryWorker = defineWorker({
  queue: retryQueue,
  concurrency,
  payload: z.object({ deliveryId: WebhookDeliveryId, attempt: z.int().min(2) }),
  async run({ deliveryId, attempt: number }, deps, signal) {
    const order = { deliveryId, number, settingsOf: settingsReader(deps) };
    const next = await attempt(order, deps, signal);
    if (next !== undefined) await deps.queues.add([retryJob(deliveryId, next, deps.now())]);
    await endRetry(deps.db, deliveryId, next?.at);
  },
});

export function retryJob(deliveryId: string, next: NonNullable<Next>, now: Date): Job {
  return {
    queue: retryQueue,
    id: deterministicId("retry", deliveryId, next.attempt),
    data: { deliveryId, attempt: next.attempt },
    delayMs: next.at.getTime() - now.getTime(),
  };
}
