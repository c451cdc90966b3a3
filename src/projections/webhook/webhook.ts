import type { Knex } from "knex";

import type { ProjectId, UserId, WebhookId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { webhookLogEvents } from "../../events/webhook/log.ts";
import { type WebhookTopic, webhookEvents } from "../../events/webhook/webhook.ts";
import { oldestFirst, type Part } from "../core/list-rows.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import type { Slice } from "../user/user.ts";
import { createReplays, replayHandlers } from "./replay.ts";

export type WebhookRow = Readonly<{
  id: WebhookId;
  project_id: ProjectId;
  url: string;
  secret: Sealed | null;
  topics: readonly WebhookTopic[];
  /** Of its creation in the log: what happened before is not sent. */
  created_at_position: bigint;
  /** Null while it is on. */
  switched_off_at: Date | null;
  /** Why it was switched off: nothing arrived since then. */
  failing_since: Date | null;
  created_by_id: UserId;
  created_at: Date;
  updated_at: Date;
}>;

const on = { switched_off_at: null, failing_since: null } as const;

export const webhookProjection = defineProjection({
  name: "webhook",
  version: 3,
  tables: ["webhook", "webhook_replay"],
  async create(tx) {
    await tx.schema.createTable("webhook", (table) => {
      table.uuid("id").primary();
      table.uuid("project_id").notNullable();
      table.text("url").notNullable();
      table.text("secret");
      table.specificType("topics", "text[]").notNullable();
      table.bigInteger("created_at_position").notNullable();
      table.timestamp("switched_off_at");
      table.timestamp("failing_since");
      table.uuid("created_by_id").notNullable();
      table.timestamp("created_at").notNullable();
      table.timestamp("updated_at").notNullable();
      table.index(["project_id", "created_at", "id"]);
    });
    await createReplays(tx);
  },
  events: { ...webhookEvents, ...webhookLogEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: async (tx, { data }) => {
      const own = tx("webhook").where("project_id", data.projectId).select("id");
      await tx("webhook_replay").whereIn("webhook_id", own).delete();
      await dropRows(tx, data.projectId, { webhook: "project_id" });
    },
    ...replayHandlers,
    WebhookCreated: async (tx, { data, position }) => {
      const row = {
        id: data.webhookId,
        project_id: data.projectId,
        url: data.url,
        secret: data.secret,
        topics: data.topics,
        created_at_position: position,
        ...on,
        created_by_id: data.createdById,
        created_at: new Date(data.createdAt),
        updated_at: new Date(data.createdAt),
      };
      await tx<WebhookRow>("webhook").insert(row).onConflict("id").merge();
    },
    WebhookReconfigured: (tx, { stream, data }) =>
      update(tx, stream, {
        url: data.url,
        secret: data.secret,
        topics: data.topics,
        updated_at: new Date(data.reconfiguredAt),
      }),
    WebhookSwitchedOff: (tx, { stream, data }) =>
      update(tx, stream, {
        switched_off_at: new Date(data.switchedOffAt),
        failing_since: new Date(data.failingSince),
      }),
    WebhookSwitchedOn: (tx, { stream }) => update(tx, stream, on),
    WebhookDeleted: async (tx, { stream }) => {
      await tx<WebhookRow>("webhook").where("id", idInStream(stream)).delete();
      await tx("webhook_replay").where("webhook_id", idInStream(stream)).delete();
    },
  },
});

async function update(tx: Tx, stream: string, change: Partial<WebhookRow>): Promise<void> {
  await tx("webhook").where("id", idInStream(stream)).update(change);
}

/** One of this very project; another project's is not found. */
export function findWebhook(
  db: Knex,
  projectId: ProjectId,
  id: string,
): Promise<WebhookRow | undefined> {
  return db<WebhookRow>("webhook").where({ project_id: projectId }).andWhere("id", id).first();
}

export function listWebhooks(
  db: Knex,
  projectId: ProjectId,
  part: Part,
): Promise<Slice<WebhookRow>> {
  return oldestFirst<WebhookRow>(db, {
    table: "webhook",
    where: { project_id: projectId },
    ...part,
  });
}

/** What decides whether a webhook receives an event. */
export type Subscriber = Pick<WebhookRow, "id" | "project_id" | "topics" | "created_at_position">;

/** All webhooks of these projects that are on, the oldest first. */
export async function subscribersIn(
  db: Knex,
  projectIds: readonly ProjectId[],
): Promise<readonly Subscriber[]> {
  return db<WebhookRow>("webhook")
    .whereIn("project_id", projectIds)
    .whereNull("switched_off_at")
    .orderBy(["created_at", "id"])
    .select("id", "project_id", "topics", "created_at_position");
}

/** Those of them that receive what happened in a project at a position of the log. */
export function subscribedTo(
  webhooks: readonly Subscriber[],
  happened: Readonly<{ projectId: ProjectId; topic: WebhookTopic; position: bigint }>,
): readonly Subscriber[] {
  const { projectId, topic, position } = happened;
  return webhooks.filter(
    ({ project_id, topics, created_at_position }) =>
      project_id === projectId && topics.includes(topic) && created_at_position < position,
  );
}
