import { currentState, handle } from "../../commands/core/handle.ts";
import { webhookLog } from "../../commands/webhook/log.ts";
import { bySystem } from "../../events/core/system.ts";
import { webhookLogId } from "../../events/webhook/log.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { firstDeliveryEnd } from "../../projections/webhook/delivery.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

const dayMs = 24 * 3_600_000;

/**
 * Takes what ended too long ago out of the log of deliveries, as of midnight UTC: one event a day. When there is
 * more, it goes a day at a time, so that no read model stands still for long.
 */
export async function sweepWebhookLog({
  db,
  store,
  config,
  visible,
  now,
}: Pick<WorkerDeps, "db" | "store" | "config" | "visible" | "now">): Promise<void> {
  const limit = midnight(now().getTime() - config.webhookLogRetentionDays * dayMs);
  const first = await firstDeliveryEnd(db);
  if (first === undefined || first.getTime() >= limit) return;
  const purged = await currentState(store, webhookLog, webhookLogId);
  const from = Math.max(midnight(first.getTime()), Date.parse(purged.endedBefore) || 0);
  const endedBefore = new Date(Math.min(limit, from + dayMs)).toISOString();
  const at = now().toISOString();
  const commandId = deterministicId("purge webhook log", endedBefore);
  const metadata = bySystem({ commandId }, at);
  const command = { type: "PurgeWebhookLog", endedBefore, at } as const;
  const order = { id: webhookLogId, command, metadata };
  await visible((await handle(store, webhookLog, order)).position);
}

const midnight = (ms: number): number => Math.floor(ms / dayMs) * dayMs;
