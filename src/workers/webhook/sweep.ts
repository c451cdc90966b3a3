import { webhookDelivery } from "../../commands/webhook/delivery.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { load } from "../core/caused-by.ts";
import type { WorkerDeps } from "../core/deps.ts";
import { retryJob, turnJob } from "./delivery.ts";
import { endRetry, stuckSince } from "./outbox.ts";

/** Longer than a job waits in a healthy queue; what stands still for longer has lost its job. */
const stuckMs = 60_000;

/**
 * Adds again the jobs of deliveries that stand still, because the queue lost them: a Redis without
 * persistence that was restarted, a job that failed too often. A job added in vain finds nothing to do.
 */
export async function sweepWebhooks(deps: WorkerDeps): Promise<void> {
  const now = deps.now();
  const { webhookIds, deliveryIds } = await stuckSince(deps.db, new Date(now.getTime() - stuckMs));
  const round = Math.floor(now.getTime() / stuckMs);
  await deps.queues.add(webhookIds.map((id) => turnJob(id, deterministicId("sweep", id, round))));
  for (const deliveryId of deliveryIds) {
    const { state } = await load(deps.store, webhookDelivery, deliveryId);
    if (state.status !== "pending" || state.nextAttemptAt === null) {
      await endRetry(deps.db, deliveryId, undefined);
      continue;
    }
    const next = { attempt: state.attempts + 1, at: now };
    const id = deterministicId("sweep", deliveryId, round);
    await deps.queues.add([{ ...retryJob(deliveryId, next, now), id }]);
  }
}
