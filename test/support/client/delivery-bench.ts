import { randomUUID } from "node:crypto";

import {
  webhookDelivery as slice,
  type WebhookDeliveryState,
} from "../../../src/commands/webhook/delivery.ts";
import type { ProjectId, WebhookId } from "../../../src/events/core/ids.ts";
import type { WebhookAction } from "../../../src/events/webhook/delivery.ts";
import { findWebhookDelivery, listAttempts } from "../../../src/projections/webhook/delivery.ts";
import { load } from "../../../src/services/core/caused-by.ts";
import { enqueue } from "../../../src/services/webhook/outbox.ts";
import {
  webhookDeliveryWorker,
  webhookRetryWorker,
} from "../../../src/workers/webhook/delivery.ts";
import { givenProject, testWorkers } from "../app/worker-deps.ts";
import { startReceiver } from "./receiver.ts";
import { givenDelivery, givenWebhook } from "./webhook-order.ts";

/** The workers' time when a test begins. */
export const startOfTime = new Date("2026-01-02T03:04:05.678Z");
export const never = new AbortController().signal;

type Ours = Readonly<{ projectId: ProjectId; webhookId: WebhookId }>;
type Settings = Readonly<{ secret?: string | null; url?: string }>;

/** A project, a receiver, and jobs of the delivery workers run by hand. Call it in `before`. */
export async function deliveryBench() {
  const { deps, clock } = await testWorkers();
  const receiver = await startReceiver();
  const { projectId, userId: ownerId } = await givenProject(deps, "search");

  return {
    deps,
    clock,
    receiver,
    /** Owner of the project. */
    ownerId,

    reset(): void {
      receiver.reset();
      clock.now = startOfTime;
    },

    async given({ url = receiver.url, ...rest }: Settings = {}): Promise<Ours> {
      return { projectId, webhookId: await givenWebhook(deps, { projectId, url, ...rest }) };
    },

    /** A delivery that stands in line. */
    async inLine(
      webhook: Ours,
      rest: Readonly<{ body?: string; action?: WebhookAction }> = {},
    ): Promise<string> {
      const { deliveryId, position } = await givenDelivery(deps, { ...webhook, ...rest });
      const { webhookId } = webhook;
      await enqueue(deps.db, [{ deliveryId, webhookId, position }], clock.now);
      return deliveryId;
    },

    turn: ({ webhookId }: { webhookId: string }, job: string = randomUUID(), using = deps) =>
      webhookDeliveryWorker.runJob({ webhookId, turn: job }, using, never),

    retry: (deliveryId: string, attempt: number, using = deps) =>
      webhookRetryWorker.runJob({ deliveryId, attempt }, using, never),

    async stateOf(deliveryId: string) {
      const { state } = await load(deps.store, slice, deliveryId);
      return state as Exclude<WebhookDeliveryState, { status: "absent" }>;
    },

    /** Of the deliveries received, in order. */
    ids: () => receiver.received.map(({ headers }) => headers["webhook-id"]),

    async logOf(webhookId: WebhookId, deliveryId: string) {
      await deps.visible(await deps.store.head());
      const delivery = await findWebhookDelivery(deps.db, webhookId, deliveryId);
      return { delivery, attempts: await listAttempts(deps.db, delivery!.id) };
    },

    /** Delay of the retry that waits, in ms; undefined when none does. */
    async retryWaiting(deliveryId: string): Promise<number | undefined> {
      const jobs = await deps.queues.queue("webhook-retry").getDelayed();
      return jobs.find(({ data }) => data.deliveryId === deliveryId)?.delay;
    },
  };
}

export type DeliveryBench = Awaited<ReturnType<typeof deliveryBench>>;
