import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import type { WebhookId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import type { WebhookLogEvent } from "../../events/webhook/log.ts";
import type { WebhookEvent, WebhookTopic } from "../../events/webhook/webhook.ts";
import { change, put, statement } from "../core/change.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

type Outcome = Stored<"WebhookReplayFinished">["data"]["outcome"];

/** Replays of webhooks; kept for as long as the deliveries that they made. */
export const replays = defineTable({
  name: "webhook_replay",
  columns: {
    id: "uuid",
    webhook_id: column<WebhookId>("uuid"),
    from: "timestamptz",
    /** Not included. */
    to: "timestamptz",
    topics: column<readonly WebhookTopic[]>("text[]"),
    /** Null: no limit. */
    per_second: "integer null",
    /** Deliveries; null until they were counted. */
    total: "integer null",
    created_at: "timestamptz",
    /** Why no delivery is scheduled any more; null while some are. */
    outcome: column<Outcome | null>("text null"),
    finished_at: "timestamptz null",
    canceled_at: "timestamptz null",
  },
  key: ["id"],
  indexes: ["(webhook_id)", "(created_at)"],
});

type WebhookReplayRow = RowOf<typeof replays>;

type Event = WebhookEvent | WebhookLogEvent;
type Stored<Type extends Event["type"]> = Recorded<Extract<Event, { type: Type }>>;

export const replayEffects = {
  WebhookReplayRequested: ({ stream, data }: Stored<"WebhookReplayRequested">) =>
    put(replays, {
      id: data.replayId,
      webhook_id: idInStream(stream) as WebhookId,
      from: new Date(data.from),
      to: new Date(data.to),
      topics: data.topics,
      per_second: data.perSecond ?? null,
      total: null,
      created_at: new Date(data.requestedAt),
      outcome: null,
      finished_at: null,
      canceled_at: null,
    }),
  WebhookReplayStarted: ({ data }: Stored<"WebhookReplayStarted">) =>
    change(replays, { id: data.replayId }, { total: data.total }),
  WebhookReplayFinished: ({ data }: Stored<"WebhookReplayFinished">) =>
    change(
      replays,
      { id: data.replayId },
      { outcome: data.outcome, finished_at: new Date(data.finishedAt) },
    ),
  WebhookReplayCanceled: ({ data }: Stored<"WebhookReplayCanceled">) =>
    change(replays, { id: data.replayId }, { canceled_at: new Date(data.canceledAt) }),
  WebhookLogPurged: ({ data }: Stored<"WebhookLogPurged">) =>
    statement("delete from webhook_replay where created_at < ?", [data.endedBefore]),
};

export type ReplayProgress = WebhookReplayRow &
  Readonly<{
    /** Deliveries whose first attempt was made. */
    sent: number;
    /** Deliveries that wait for their first attempt. */
    waiting: number;
  }>;

/** A replay of this webhook, with its progress; one of another webhook is not found. */
export async function findWebhookReplay(
  db: Knex,
  webhookId: WebhookId,
  id: string,
): Promise<ReplayProgress | undefined> {
  const row = await db<WebhookReplayRow>("webhook_replay")
    .where({ id, webhook_id: webhookId })
    .first();
  if (row === undefined) return undefined;
  const counted = await db("webhook_delivery")
    .where("replay_id", id)
    .first<Record<"sent" | "waiting", bigint | number | string>>(
      db.raw("count(*) filter (where attempts > 0) as sent"),
      db.raw("count(*) filter (where attempts = 0 and finished_at is null) as waiting"),
    );
  return { ...row, sent: Number(counted?.sent ?? 0), waiting: Number(counted?.waiting ?? 0) };
}

/** Replays of a project's webhooks for which deliveries are still being scheduled, one of them left out. */
export async function countRunningReplays(
  db: Knex,
  projectId: string,
  besides: string,
): Promise<number> {
  const row = await db("webhook_replay as replay")
    .join("webhook", "webhook.id", "replay.webhook_id")
    .where("webhook.project_id", projectId)
    .whereNull("replay.finished_at")
    .whereNull("replay.canceled_at")
    .whereNot("replay.id", besides)
    .count({ count: "*" })
    .first();
  return Number(row?.["count"] ?? 0);
}

export type StuckReplay = Pick<WebhookReplayRow, "id" | "webhook_id"> &
  Readonly<{
    /** Deliveries that were scheduled, as text. */
    scheduled: string;
  }>;

/** Replays for which nothing was scheduled since `before` although more follows, the oldest first. */
export async function stuckReplays(
  db: Knex,
  before: Date,
  countMax: number,
): Promise<readonly StuckReplay[]> {
  const { rows } = await db.raw<{ rows: StuckReplay[] }>(
    `select id, webhook_id,
       (select count(*) from webhook_delivery where replay_id = replay.id)::text as scheduled
     from webhook_replay as replay
     where finished_at is null and canceled_at is null and created_at < :before
       and not exists (
         select from webhook_delivery where replay_id = replay.id and created_at >= :before)
     order by created_at limit :countMax`,
    { before, countMax },
  );
  return rows;
}
