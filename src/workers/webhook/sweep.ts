import { webhookDelivery } from "../../commands/webhook/delivery.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { stuckReplays } from "../../projections/webhook/replay.ts";
import { load } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { endRetry, stuckSince } from "../../services/webhook/outbox.ts";
import { retryJob } from "./delivery.ts";
import { turnJob } from "./dispatch.ts";
import { replayJob } from "./replay.ts";

/** Longer than a job waits in a healthy queue; what stands still for longer has lost its job. */
const stuckMs = 60_000;
/** Longer than the history of a large project takes to be read. */
const replayStuckMs = 10 * 60_000;
/** So many are looked after in a round. */
const replaysMax = 100;

/**
 * Adds again the jobs of deliveries that stand still, because the queue lost them: a Redis without
 * persistence that was restarted, a job that failed too often. A job added in vain finds nothing to do.
 */
export async function sweepWebhooks(deps: WorkerDeps): Promise<void> {
  await sweepReplays(deps);
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

/**
 * A replay that has lost its job goes on; what was scheduled is not scheduled twice. The job is named after
 * how far the replay is: one that merely waits is added once.
 */
async function sweepReplays({ db, queues, now }: WorkerDeps): Promise<void> {
  const before = new Date(now().getTime() - replayStuckMs);
  const stuck = await stuckReplays(db, before, replaysMax);
  await queues.add(
    stuck.map(({ id: replayId, webhook_id: webhookId, scheduled: start }) =>
      replayJob({ webhookId, replayId, start }),
    ),
  );
}
