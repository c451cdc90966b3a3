import { z } from "zod";

import { handle } from "../../../commands/core/handle.ts";
import { webhook } from "../../../commands/webhook/webhook.ts";
import { WebhookTopic } from "../../../events/webhook/webhook.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findWebhookReplay, type ReplayProgress } from "../../../projections/webhook/replay.ts";
import { stampOf } from "../../core/command-deps.ts";
import { oneBelow } from "../../core/one-below.ts";
import { type Route, route } from "../../core/route.ts";
import { instant, int, timeOrDay } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";
import { withinRunningLimit } from "./replay-limit.ts";
import { SomeFlags, topicsOf } from "./view.ts";
import { mustBeOn, mustFindWebhook } from "./webhook.ts";

const path = "/project/{ownerAlias}/{projectAlias}/setting/webhook/{id}/replay";
const guarded = { tag: "Webhooks", scope: "PROJECT_EDIT", access: "project:ADMIN" } as const;

const perSecondMax = 1_000;

const statuses = ["PENDING", "RUNNING", "FINISHED", "CANCELED", "STOPPED"] as const;

const ReplayView = z
  .object({
    replayId: z.uuid(),
    webhookId: z.uuid(),
    status: z.enum(statuses).meta({
      description:
        "PENDING until the deliveries are counted, FINISHED when each was attempted, STOPPED when the webhook was switched off or the project deleted.",
    }),
    sent: z.int().meta({ description: "Deliveries that were attempted, with whatever result." }),
    total: z.int().nullable(),
    from: instant(),
    to: instant(),
    events: z.array(WebhookTopic),
    perSecond: z.int().nullable(),
    createdAt: instant(),
  })
  .meta({ id: "WebhookReplayProgress" });

function replayView(row: ReplayProgress): z.input<typeof ReplayView> {
  return toView(ReplayView, row, {
    replayId: row.id,
    status: statusOf(row),
    events: [...row.topics],
  });
}

function statusOf({ canceled_at, outcome, total, waiting }: ReplayProgress) {
  if (canceled_at !== null) return "CANCELED";
  if (outcome !== null && outcome !== "scheduled") return "STOPPED";
  if (total === null) return "PENDING";
  return outcome === null || waiting > 0 ? "RUNNING" : "FINISHED";
}

const Instant = timeOrDay().transform((time) => time.toISOString());

const wrongEvents = `Give a list of events, or an object of flags; known are ${WebhookTopic.options.join(", ")}`;

const Replay = z
  .object({
    from: Instant,
    to: Instant.meta({ description: "Not included.", example: "2026-02-03T00:00:00.000Z" }),
    events: z
      .union(
        [z.array(WebhookTopic).max(WebhookTopic.options.length), SomeFlags.transform(topicsOf)],
        {
          error: ({ input }) => (input === null ? undefined : wrongEvents),
        },
      )
      .refine((topics) => topics.length > 0, "Name an event, or leave `events` out")
      .optional()
      .meta({ description: "One or more; all that the webhook is subscribed to when left out." }),
    perSecond: int({ min: 1, max: perSecondMax })
      .optional()
      .meta({ description: "At most so many deliveries are begun in a second.", example: 10 }),
  })
  .refine(({ from, to }) => from < to, { path: ["to"], error: "It must be after from" })
  .meta({ id: "WebhookReplay" });

const postReplay = route({
  ...guarded,
  method: "post",
  path,
  operationId: "replayWebhook",
  orAdministrator: true,
  summary: "Send what happened in a time again, as new deliveries",
  body: Replay,
  reply: z.object({ replayId: z.uuid() }).meta({ id: "WebhookReplayStarted" }),
  async handle({ params, body, request }, deps) {
    const owner = mustBeOn(await mustFindWebhook(deps, request, params.id));
    const { from, to, events: topics, perSecond } = body;
    const replayId = deterministicId(request.commandId, "replay");
    const command = {
      type: "RequestReplay",
      projectId: owner.project_id,
      replayId,
      from,
      to,
      ...(topics !== undefined && { topics }),
      ...(perSecond !== undefined && { perSecond }),
      ...stampOf(request, deps),
    } as const;
    await request.executeProcess((metadata) =>
      withinRunningLimit(command, deps, () =>
        handle(deps.store, webhook, { id: owner.id, command, metadata }),
      ),
    );
    return { replayId };
  },
});

const getReplay = route({
  ...guarded,
  method: "get",
  path: `${path}/{replayId}`,
  operationId: "getWebhookReplay",
  summary: "Tell how far a replay of history is",
  reply: ReplayView,
  async handle({ params, request }, deps) {
    const owner = await mustFindWebhook(deps, request, params.id);
    return replayView(await mustFindReplay(deps, owner, params.replayId));
  },
});

const cancelReplay = route({
  ...guarded,
  method: "post",
  path: `${path}/{replayId}/cancel`,
  operationId: "cancelWebhookReplay",
  summary: "Stop a replay of history: what was not sent yet is not sent any more",
  reply: ReplayView,
  async handle({ params, request }, deps) {
    const owner = await mustFindWebhook(deps, request, params.id);
    const status = statusOf(await mustFindReplay(deps, owner, params.replayId));
    if (status === "FINISHED" || status === "STOPPED") {
      const message = "The replay is over: nothing is left to be canceled.";
      throw new Refusal("unprocessable", "webhook_replay.over", message);
    }
    const command = {
      type: "CancelReplay",
      projectId: owner.project_id,
      replayId: params.replayId,
      ...stampOf(request, deps),
    } as const;
    await request.execute(webhook, owner.id, command);
    return replayView(await mustFindReplay(deps, owner, params.replayId));
  },
});

export const webhookReplayRoutes: readonly Route[] = [cancelReplay, getReplay, postReplay];

/** @throws Refusal not_found, also for a replay of another webhook */
const mustFindReplay = oneBelow(
  findWebhookReplay,
  () => new Refusal("not_found", "webhook_replay.not_found", "Replay not found."),
);
