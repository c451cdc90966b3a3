import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import type { ProjectId, WebhookDeliveryId, WebhookId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import {
  type WebhookAction,
  type WebhookDeliveryEvent,
  webhookDeliveryEvents,
} from "../../events/webhook/delivery.ts";
import { webhookLogEvents } from "../../events/webhook/log.ts";
import { webhookEvents } from "../../events/webhook/webhook.ts";
import { type Change, change, derive, put, statement } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel, nothing } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { type Part, partOf, type Slice } from "../list/list-rows.ts";

export type DeliveryStatus = "PENDING" | "SUCCESS" | "FAILED" | "ABANDONED";

type Stored<Type extends WebhookDeliveryEvent["type"]> = Recorded<
  Extract<WebhookDeliveryEvent, { type: Type }>
>;

const deliveries = defineTable({
  name: "webhook_delivery",
  columns: {
    id: column<WebhookDeliveryId>("uuid"),
    webhook_id: column<WebhookId>("uuid"),
    project_id: column<ProjectId>("uuid"),
    action: column<WebhookAction>("text"),
    status: column<DeliveryStatus>("text"),
    /** Sealed JSON text. */
    body: column<Sealed>("text"),
    redelivery_of: column<WebhookDeliveryId | null>("uuid null"),
    replay_id: "uuid null",
    /** Order in which deliveries of a webhook start. */
    position: "bigint",
    attempts: "integer",
    next_attempt_at: "timestamptz null",
    /** Why it was not sent, or not sent again. */
    abandoned_because: "text null",
    created_at: "timestamptz",
    finished_at: "timestamptz null",
  },
  key: ["id"],
  indexes: [
    "(webhook_id, position)",
    // Of a project that is purged; of a log that is purged, by age.
    "(project_id)",
    "(finished_at)",
    // Most deliveries belong to no replay.
    "(replay_id, created_at) where replay_id is not null",
  ],
});

type WebhookDeliveryRow = RowOf<typeof deliveries>;

const attempts = defineTable({
  name: "webhook_delivery_attempt",
  columns: {
    delivery_id: column<WebhookDeliveryId>("uuid"),
    attempt: "integer",
    url: "text",
    started_at: "timestamptz",
    connect_ms: "integer null",
    first_byte_ms: "integer null",
    total_ms: "integer",
    /** Of the answer; null when there was none. */
    status: "integer null",
    response: column<Sealed | null>("text null"),
    /** Null when it succeeded. */
    failure: "text null",
  },
  key: ["delivery_id", "attempt"],
});

export type WebhookAttemptRow = RowOf<typeof attempts>;

export const webhookDeliveryProjection = defineReadModel({
  name: "webhook_delivery",
  version: 5,
  tables: [deliveries, attempts],
  events: { ...webhookEvents, ...webhookDeliveryEvents, ...webhookLogEvents, ...purgeEvents },
  effects: {
    WebhookDeliveryScheduled: ({ data, position }) =>
      put(deliveries, {
        id: data.deliveryId,
        webhook_id: data.webhookId,
        project_id: data.projectId,
        action: data.action,
        status: "PENDING",
        body: data.body,
        redelivery_of: data.redeliveryOf,
        replay_id: data.replayId ?? null,
        position,
        attempts: 0,
        next_attempt_at: null,
        abandoned_because: null,
        created_at: new Date(data.scheduledAt),
        finished_at: null,
      }),
    WebhookDeliverySucceeded: (event) => [
      ...attempted(event, null),
      finished(event, { status: "SUCCESS", attempts: event.data.attempt }),
    ],
    WebhookDeliveryAttemptFailed: (event) => {
      const { attempt, failure, nextAttemptAt } = event.data;
      const waits = nextAttemptAt !== null && {
        attempts: attempt,
        next_attempt_at: new Date(nextAttemptAt),
      };
      return [
        ...attempted(event, failure),
        waits
          ? change(deliveries, { id: idOf(event.stream) }, waits)
          : finished(event, { status: "FAILED", attempts: attempt }),
      ];
    },
    WebhookDeliveryAbandoned: (event) =>
      finished(event, { status: "ABANDONED", abandoned_because: event.data.reason }),
    // Its log is deleted with the webhook, because no request can name it any more.
    WebhookDeleted: ({ stream }) => dropped("webhook_id = ?", idInStream(stream)),
    // Those that have not ended stay, however old they are.
    WebhookLogPurged: ({ data }) => dropped("finished_at < ?", data.endedBefore),
    ProjectPurged: ({ data }) => dropped("project_id = ?", data.projectId),
    WebhookCreated: nothing,
    WebhookReconfigured: nothing,
    WebhookSwitchedOff: nothing,
    WebhookSwitchedOn: nothing,
    WebhookReplayRequested: nothing,
    WebhookReplayStarted: nothing,
    WebhookReplayFinished: nothing,
    WebhookReplayCanceled: nothing,
  },
});

/** Deletes deliveries and their attempts. */
const dropped = (condition: string, value: string): Change =>
  statement(
    `with dropped as (delete from webhook_delivery where ${condition} returning id)
     delete from webhook_delivery_attempt using dropped where delivery_id = dropped.id`,
    [value],
  );

type AttemptEvent = Stored<"WebhookDeliverySucceeded"> | Stored<"WebhookDeliveryAttemptFailed">;

const idOf = (stream: string) => idInStream(stream) as WebhookDeliveryId;

/** What ends after its webhook was deleted leaves nothing. */
const dropOrphans = `
  delete from webhook_delivery_attempt where delivery_id = any(?)
    and not exists (select from webhook_delivery where id = delivery_id)`;

function attempted({ stream, data }: AttemptEvent, failure: string | null): readonly Change[] {
  const row = {
    delivery_id: idOf(stream),
    attempt: data.attempt,
    url: data.url,
    started_at: new Date(data.startedAt),
    connect_ms: data.connectMs,
    first_byte_ms: data.firstByteMs,
    total_ms: data.totalMs,
    status: data.status,
    response: data.response,
    failure,
  };
  return [put(attempts, row), derive(dropOrphans, row.delivery_id)];
}

function finished(
  { stream, metadata }: Recorded<WebhookDeliveryEvent>,
  columns: Partial<WebhookDeliveryRow>,
): Change {
  const finished_at = new Date(metadata.occurredAt);
  const end = { ...columns, next_attempt_at: null, finished_at };
  return change(deliveries, { id: idOf(stream) }, end);
}

export type DeliverySummary = WebhookDeliveryRow &
  Readonly<{
    /** Of the last attempt. */
    last_status: number | null;
    last_failure: string | null;
  }>;

/** Deliveries of a webhook, newest first, with how the last attempt went. */
export function listWebhookDeliveries(
  db: Knex,
  webhookId: WebhookId,
  part: Part,
): Promise<Slice<DeliverySummary>> {
  const own = () => db("webhook_delivery").where("webhook_id", webhookId);
  return partOf(own, (rows) => withLastAttempt(rows).orderBy("position", "desc"), part);
}

export type TroubledDelivery = DeliverySummary &
  Readonly<{
    /** Address of the webhook now. */
    hook_url: string;
  }>;

/** How many of the newest ended deliveries are searched for failures. */
const endedMax = 1_000;

/** Deliveries of all projects that wait for another attempt, or were given up lately; the newest first. */
export async function troubledDeliveries(
  db: Knex,
  limit: number,
): Promise<readonly TroubledDelivery[]> {
  const waiting = db("webhook_delivery")
    .select("id")
    .whereNull("finished_at")
    .where("attempts", ">", 0);
  const ended = db("webhook_delivery").select("id", "status").whereNotNull("finished_at");
  const last = ended.orderBy("finished_at", "desc").limit(endedMax).as("last");
  const failed = db(last).select("id").whereNot("status", "SUCCESS");
  return await withLastAttempt(db("webhook_delivery"))
    .join("webhook", "webhook.id", "webhook_delivery.webhook_id")
    .where((one) =>
      one.whereIn("webhook_delivery.id", waiting).orWhereIn("webhook_delivery.id", failed),
    )
    .select({ hook_url: "webhook.url" })
    .orderBy("webhook_delivery.position", "desc")
    .limit(limit);
}

/** A delivery of this webhook; one of another webhook is not found. */
export function findWebhookDelivery(
  db: Knex,
  webhookId: WebhookId,
  id: string,
): Promise<DeliverySummary | undefined> {
  const own = db("webhook_delivery").where("webhook_id", webhookId);
  return withLastAttempt(own.where("webhook_delivery.id", id)).first();
}

/** Those of these ids that were scheduled. */
export async function scheduledAmong(
  db: Knex,
  ids: readonly WebhookDeliveryId[],
): Promise<ReadonlySet<WebhookDeliveryId>> {
  const { rows } = await db.raw<{ rows: Pick<WebhookDeliveryRow, "id">[] }>(
    "select id from webhook_delivery where id = any(?::uuid[])",
    [[...ids]],
  );
  return new Set(rows.map(({ id }) => id));
}

/** When the first of all deliveries that are over ended; undefined when none is. */
export async function firstDeliveryEnd(db: Knex): Promise<Date | undefined> {
  const first = await db<WebhookDeliveryRow>("webhook_delivery")
    .whereNotNull("finished_at")
    .orderBy("finished_at")
    .first("finished_at");
  return first?.finished_at ?? undefined;
}

export async function listAttempts(
  db: Knex,
  deliveryId: WebhookDeliveryId,
): Promise<readonly WebhookAttemptRow[]> {
  return db<WebhookAttemptRow>("webhook_delivery_attempt")
    .where({ delivery_id: deliveryId })
    .orderBy("attempt");
}

function withLastAttempt(query: Knex.QueryBuilder): Knex.QueryBuilder {
  return query
    .leftJoin("webhook_delivery_attempt as last", (join) =>
      join
        .on("last.delivery_id", "webhook_delivery.id")
        .andOn("last.attempt", "webhook_delivery.attempts"),
    )
    .select("webhook_delivery.*", "last.status as last_status", "last.failure as last_failure");
}
