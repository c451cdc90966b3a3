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
import { ignore, type Tx } from "../core/projection.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { tableOf, type Writes } from "../core/writes.ts";

export type DeliveryStatus = "PENDING" | "SUCCESS" | "FAILED" | "ABANDONED";

export type WebhookDeliveryRow = Readonly<{
  id: WebhookDeliveryId;
  webhook_id: WebhookId;
  project_id: ProjectId;
  action: WebhookAction;
  status: DeliveryStatus;
  /** Sealed JSON text. */
  body: Sealed;
  redelivery_of: WebhookDeliveryId | null;
  replay_id: string | null;
  /** Order in which deliveries of a webhook start. */
  position: bigint;
  attempts: number;
  next_attempt_at: Date | null;
  /** Why it was not sent, or not sent again. */
  abandoned_because: string | null;
  created_at: Date;
  finished_at: Date | null;
}>;

export type WebhookAttemptRow = Readonly<{
  delivery_id: WebhookDeliveryId;
  attempt: number;
  url: string;
  started_at: Date;
  connect_ms: number | null;
  first_byte_ms: number | null;
  total_ms: number;
  /** Of the answer; null when there was none. */
  status: number | null;
  response: Sealed | null;
  /** Null when it succeeded. */
  failure: string | null;
}>;

type Stored<Type extends WebhookDeliveryEvent["type"]> = Recorded<
  Extract<WebhookDeliveryEvent, { type: Type }>
>;

async function create(tx: Tx): Promise<void> {
  await tx.schema.createTable("webhook_delivery", (table) => {
    table.uuid("id").primary();
    table.uuid("webhook_id").notNullable();
    table.uuid("project_id").notNullable();
    table.text("action").notNullable();
    table.text("status").notNullable();
    table.text("body").notNullable();
    table.uuid("redelivery_of");
    table.uuid("replay_id");
    table.bigInteger("position").notNullable();
    table.integer("attempts").notNullable();
    table.timestamp("next_attempt_at");
    table.text("abandoned_because");
    table.timestamp("created_at").notNullable();
    table.timestamp("finished_at");
    table.index(["webhook_id", "position"]);
    // Of a project that is purged; of a log that is purged, by age.
    table.index(["project_id"]);
    table.index(["finished_at"]);
  });
  // Most deliveries belong to no replay.
  await tx.raw(
    `create index webhook_delivery_replay_id_index on webhook_delivery (replay_id, created_at)
     where replay_id is not null`,
  );
  await tx.schema.createTable("webhook_delivery_attempt", (table) => {
    table.uuid("delivery_id").notNullable();
    table.integer("attempt").notNullable();
    table.text("url").notNullable();
    table.timestamp("started_at").notNullable();
    table.integer("connect_ms");
    table.integer("first_byte_ms");
    table.integer("total_ms").notNullable();
    table.integer("status");
    table.text("response");
    table.text("failure");
    table.primary(["delivery_id", "attempt"]);
  });
}

const deliveries = tableOf<WebhookDeliveryRow>({ name: "webhook_delivery", key: ["id"] });
/** Of deliveries that are still there: what ends after its webhook was deleted leaves nothing. */
const attempts = tableOf<WebhookAttemptRow>({
  name: "webhook_delivery_attempt",
  key: ["delivery_id", "attempt"],
  after: deliveries,
  storedIf: "exists (select from webhook_delivery where id = given.delivery_id)",
});

export const webhookDeliveryProjection = defineRowProjection({
  name: "webhook_delivery",
  version: 4,
  tables: ["webhook_delivery", "webhook_delivery_attempt"],
  create,
  events: { ...webhookEvents, ...webhookDeliveryEvents, ...webhookLogEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: (rows, { data: { projectId } }) => drop(rows, ["project_id", "=", projectId]),
    // Those that have not ended stay, however old they are.
    WebhookLogPurged: (rows, { data }) =>
      drop(rows, ["finished_at", "<", new Date(data.endedBefore)]),
    WebhookDeliveryScheduled: (rows, { data, position }) => {
      const row: WebhookDeliveryRow = {
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
      };
      rows.put(deliveries, row);
    },
    WebhookDeliverySucceeded: (rows, event) => {
      addAttempt(rows, event, null);
      finish(rows, event, { status: "SUCCESS", attempts: event.data.attempt });
    },
    WebhookDeliveryAttemptFailed: (rows, event) => {
      const { attempt, failure, nextAttemptAt } = event.data;
      addAttempt(rows, event, failure);
      if (nextAttemptAt === null) {
        finish(rows, event, { status: "FAILED", attempts: attempt });
      } else {
        const next_attempt_at = new Date(nextAttemptAt);
        rows.change(deliveries, { id: idOf(event.stream) }, { attempts: attempt, next_attempt_at });
      }
    },
    WebhookDeliveryAbandoned: (rows, event) =>
      finish(rows, event, { status: "ABANDONED", abandoned_because: event.data.reason }),
    // Its log is deleted with the webhook, because no request can name it any more.
    WebhookDeleted: (rows, { stream }) => drop(rows, ["webhook_id", "=", idInStream(stream)]),
    WebhookCreated: ignore,
    WebhookReconfigured: ignore,
    WebhookSwitchedOff: ignore,
    WebhookSwitchedOn: ignore,
    WebhookReplayRequested: ignore,
    WebhookReplayStarted: ignore,
    WebhookReplayFinished: ignore,
    WebhookReplayCanceled: ignore,
  },
});

type Which = readonly [column: keyof WebhookDeliveryRow, operator: "=" | "<", value: string | Date];

/** Deliveries and their attempts. */
async function drop(rows: Writes, which: Which): Promise<void> {
  const tx = await rows.written();
  const own = tx("webhook_delivery")
    .where(...which)
    .select("id");
  await tx("webhook_delivery_attempt").whereIn("delivery_id", own).delete();
  await tx("webhook_delivery")
    .where(...which)
    .delete();
}

type AttemptEvent = Stored<"WebhookDeliverySucceeded"> | Stored<"WebhookDeliveryAttemptFailed">;

const idOf = (stream: string) => idInStream(stream) as WebhookDeliveryId;

function addAttempt(rows: Writes, { stream, data }: AttemptEvent, failure: string | null): void {
  rows.put(attempts, {
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
  });
}

function finish(
  rows: Writes,
  { stream, metadata }: Recorded<WebhookDeliveryEvent>,
  change: Partial<WebhookDeliveryRow>,
): void {
  const finished_at = new Date(metadata.occurredAt);
  rows.change(deliveries, { id: idOf(stream) }, { ...change, next_attempt_at: null, finished_at });
}

export type DeliverySummary = WebhookDeliveryRow &
  Readonly<{
    /** Of the last attempt. */
    last_status: number | null;
    last_failure: string | null;
  }>;

/** Deliveries of a webhook, newest first, with how the last attempt went. */
export async function listWebhookDeliveries(
  db: Knex,
  webhookId: WebhookId,
  { limit, offset }: Readonly<{ limit: number; offset: number }>,
): Promise<Readonly<{ rows: readonly DeliverySummary[]; total: number }>> {
  const own = db("webhook_delivery").where("webhook_id", webhookId);
  const [rows, counted] = await Promise.all([
    withLastAttempt(own.clone()).orderBy("position", "desc").limit(limit).offset(offset),
    own.clone().count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
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
