import { z } from "zod";
import { WebhookAction } from "../../../events/webhook/delivery.ts";
import { type WebhookTopic, webhookTopics } from "../../../events/webhook/webhook.ts";
import type { DeliverySummary, WebhookAttemptRow } from "../../../projections/webhook/delivery.ts";
import type { WebhookRow } from "../../../projections/webhook/webhook.ts";
import type { Deps } from "../../core/deps.ts";
import { bool, instant } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";

const Flag = z.boolean();

/** Every topic is there, true or false. */
const Flags = z
  .object(Object.fromEntries(webhookTopics.map((topic) => [topic, Flag])))
  .meta({ id: "WebhookEvents" });

/** Some topics; what is not named is false. A misspelt one would never fire, so it is refused. */
export const SomeFlags = z
  .strictObject(Object.fromEntries(webhookTopics.map((topic) => [topic, bool().optional()])), {
    error: ({ code, keys }) =>
      code === "unrecognized_keys" && Array.isArray(keys)
        ? `There is no event ${keys.join(", ").slice(0, 200)}; known are ${webhookTopics.join(", ")}`
        : undefined,
  })
  .meta({ id: "SomeWebhookEvents" });

export function topicsOf(flags: z.output<typeof SomeFlags>): readonly WebhookTopic[] {
  return webhookTopics.filter((topic) => flags[topic] === true);
}

export const WebhookView = z
  .object({
    id: z.uuid(),
    url: z.string(),
    secret: z.string().nullable(),
    projectId: z.uuid(),
    createdAt: instant(),
    updatedAt: instant(),
    events: Flags,
    active: z.boolean(),
    switchedOffAt: instant().nullable(),
    failingSince: instant().nullable().meta({
      description: "Given when it was switched off: nothing sent since then arrived.",
    }),
  })
  .meta({ id: "Webhook" });

/** Only administrators of the project get here: the secret is in clear. */
export async function webhookView(
  row: WebhookRow,
  { vault, past }: Pick<Deps, "vault" | "past">,
): Promise<z.input<typeof WebhookView>> {
  const subscribed = new Set(row.topics);
  return toView(WebhookView, row, {
    // One that was replaced or deleted since is not given away again.
    secret: row.secret === null || past ? null : await vault.open(row.secret),
    events: Object.fromEntries(webhookTopics.map((topic) => [topic, subscribed.has(topic)])),
    active: row.switched_off_at === null,
  });
}

const Summary = z.object({
  id: z.uuid(),
  webhookId: z.uuid(),
  event: WebhookAction,
  status: z.enum(["PENDING", "SUCCESS", "FAILED", "ABANDONED"]),
  attempts: z.int(),
  responseStatus: z.int().nullable().meta({ description: "Of the last attempt." }),
  failure: z
    .string()
    .nullable()
    .meta({ description: "Why the last attempt failed, or none followed." }),
  redeliveryOf: z.uuid().nullable(),
  createdAt: instant(),
  nextAttemptAt: instant().nullable(),
  finishedAt: instant().nullable(),
});

export const DeliverySummaryView = Summary.meta({ id: "WebhookDeliverySummary" });

export function summaryView(row: DeliverySummary): z.input<typeof DeliverySummaryView> {
  return toView(DeliverySummaryView, row, {
    event: row.action,
    responseStatus: row.last_status,
    failure: row.abandoned_because ?? row.last_failure,
  });
}

const Attempt = z.object({
  attempt: z.int(),
  url: z.string(),
  startedAt: instant(),
  status: z.int().nullable(),
  failure: z.string().nullable(),
  connectMs: z.int().nullable(),
  firstByteMs: z.int().nullable(),
  totalMs: z.int(),
  response: z
    .object({
      headers: z.record(z.string(), z.string()),
      body: z.string().meta({ description: "The first 8 KiB." }),
      bodyTruncated: z.boolean(),
    })
    .nullable(),
});

export const DeliveryView = Summary.extend({
  request: z.object({ body: z.unknown() }).nullable(),
  attemptList: z.array(Attempt),
}).meta({ id: "WebhookDelivery" });

export async function deliveryView(
  row: DeliverySummary,
  attempts: readonly WebhookAttemptRow[],
  deps: Pick<Deps, "vault">,
): Promise<z.input<typeof DeliveryView>> {
  const body = await deps.vault.open(row.body);
  return {
    ...summaryView(row),
    request: body === null ? null : { body: JSON.parse(body) },
    attemptList: await Promise.all(attempts.map((attempt) => attemptView(attempt, deps))),
  };
}

/** As the worker wrote it, before it was sealed. */
const Answer = z.object({
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  bodyTruncated: z.boolean(),
});

async function attemptView(
  row: WebhookAttemptRow,
  { vault }: Pick<Deps, "vault">,
): Promise<z.input<typeof Attempt>> {
  const answer = row.response === null ? null : await vault.open(row.response);
  return toView(Attempt, row, {
    response: answer === null ? null : Answer.parse(JSON.parse(answer)),
  });
}
