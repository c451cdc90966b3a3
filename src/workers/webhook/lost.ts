import type { Knex } from "knex";

import { webhookDelivery } from "../../commands/webhook/delivery.ts";
import type { WebhookDeliveryId, WebhookId } from "../../events/core/ids.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { load } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { enqueue, putBesideLine } from "../../services/webhook/outbox.ts";
import { turnJob, webhookDispatch } from "./dispatch.ts";

const lostMax = 1_000;

/** A delivery that is pending in the log and that no row of the outbox will bring to an attempt. */
export type LostDelivery = Readonly<{
  deliveryId: WebhookDeliveryId;
  webhookId: WebhookId;
  position: bigint;
  /** Undefined before the first attempt. */
  retryAt: Date | undefined;
}>;

/**
 * The oldest 1 000 of them. The reactor that fills the outbox has passed their events, so nothing else
 * puts them back.
 */
export async function lostDeliveries({
  db,
  store,
}: Readonly<{ db: Knex; store: EventStore }>): Promise<readonly LostDelivery[]> {
  const { rows } = await db.raw<{ rows: Candidate[] }>(
    `select id, webhook_id, position from webhook_delivery
     where finished_at is null and status = 'PENDING'
       and position <= (select position from reactor_checkpoint where name = ?)
       and not exists (select from webhook_outbox where delivery_id = id)
     order by position limit ?`,
    [webhookDispatch.name, lostMax],
  );
  const lost: LostDelivery[] = [];
  for (const { id: deliveryId, webhook_id: webhookId, position } of rows) {
    // The read model may be behind an attempt that has ended the delivery.
    const { state } = await load(store, webhookDelivery, deliveryId);
    if (state.status !== "pending") continue;
    const { nextAttemptAt } = state;
    const retryAt = nextAttemptAt === null ? undefined : new Date(nextAttemptAt);
    lost.push({ deliveryId, webhookId, position, retryAt });
  }
  return lost;
}

type Candidate = Readonly<{ id: WebhookDeliveryId; webhook_id: WebhookId; position: bigint }>;

/** Gives lost deliveries their rows again; the sweep of the outbox adds the jobs of later attempts. */
export async function putBack(
  db: Knex,
  lost: readonly LostDelivery[],
  now: Date,
): Promise<readonly WebhookId[]> {
  const first = lost.filter(({ retryAt }) => retryAt === undefined);
  await enqueue(db, first, now);
  for (const { retryAt, ...place } of lost) {
    if (retryAt !== undefined) await putBesideLine(db, place, retryAt);
  }
  return [...new Set(first.map(({ webhookId }) => webhookId))];
}

/** Puts back what a crash or a restored backup took out of the outbox, and starts those lines. */
export async function sweepLostDeliveries(deps: WorkerDeps): Promise<void> {
  const lost = await lostDeliveries(deps);
  if (lost.length === 0) return;
  deps.log.warn({ deliveries: lost.length }, "pending webhook deliveries are put back in line");
  const webhookIds = await putBack(deps.db, lost, deps.now());
  await deps.queues.add(webhookIds.map((webhookId) => turnJob(webhookId)));
}
