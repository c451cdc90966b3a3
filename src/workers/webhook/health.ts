import { handle } from "../../commands/core/handle.ts";
import { webhook } from "../../commands/webhook/webhook.ts";
import type { Recorded } from "../../events/core/event.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { causedBy } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

/** Nothing but failure for this long switches a webhook off. */
const failingMaxMs = 5 * 24 * 60 * 60_000;

type Cause = Pick<Recorded, "id" | "metadata">;

type HealthRow = Readonly<{ webhook_id: string; failing_since: Date }>;

/** Something arrived: what failed before counts no more. */
export async function noteSuccess({ db }: WorkerDeps, webhookId: string): Promise<void> {
  await db<HealthRow>("webhook_health").where({ webhook_id: webhookId }).delete();
}

/** An attempt failed: since when has everything? */
export async function noteFailure(
  deps: WorkerDeps,
  webhookId: string,
  cause: Cause,
): Promise<void> {
  const { db, store } = deps;
  const now = deps.now();
  await db<HealthRow>("webhook_health")
    .insert({ webhook_id: webhookId, failing_since: now })
    .onConflict("webhook_id")
    .ignore();
  const row = await db<HealthRow>("webhook_health").where({ webhook_id: webhookId }).first();
  if (row === undefined || now.getTime() - row.failing_since.getTime() < failingMaxMs) return;

  const failingSince = row.failing_since.toISOString();
  await handle(store, webhook, {
    id: webhookId,
    command: { type: "SwitchOffWebhook", failingSince, at: now.toISOString() },
    metadata: causedBy(cause, deterministicId("switch off", webhookId, failingSince), now),
  });
  // Switched on again it starts with a clean record.
  await noteSuccess(deps, webhookId);
}
