import type { Knex } from "knex";

import type { ProjectId, UserId, WebhookId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { webhookLogEvents } from "../../events/webhook/log.ts";
import { type WebhookTopic, webhookEvents } from "../../events/webhook/webhook.ts";
import { change, put, remove, statement } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { oldestFirst, type Part, type Slice } from "../list/list-rows.ts";
import { replayEffects, replays } from "./replay.ts";

const on = { switched_off_at: null, failing_since: null } as const;

const webhooks = defineTable({
  name: "webhook",
  columns: {
    id: column<WebhookId>("uuid"),
    project_id: column<ProjectId>("uuid"),
    url: "text",
    secret: column<Sealed | null>("text null"),
    topics: column<readonly WebhookTopic[]>("text[]"),
    /** Of its creation in the log: what happened before is not sent. */
    created_at_position: "bigint",
    /** Null while it is on. */
    switched_off_at: "timestamptz null",
    /** Why it was switched off: nothing arrived since then. */
    failing_since: "timestamptz null",
    created_by_id: column<UserId>("uuid"),
    created_at: "timestamptz",
    updated_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(project_id, created_at, id)"],
});

export type WebhookRow = RowOf<typeof webhooks>;

const idOf = (stream: string) => ({ id: idInStream(stream) as WebhookId });

const purgeReplays = `
  delete from webhook_replay
  where webhook_id in (select id from webhook where project_id = ?)`;

export const webhookProjection = defineReadModel({
  name: "webhook",
  version: 4,
  tables: [webhooks, replays],
  events: { ...webhookEvents, ...webhookLogEvents, ...purgeEvents },
  effects: {
    ...replayEffects,
    WebhookCreated: ({ data, position }) =>
      put(webhooks, {
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
      }),
    WebhookReconfigured: ({ stream, data: { url, secret, topics, reconfiguredAt } }) =>
      change(webhooks, idOf(stream), {
        ...{ url, secret, topics },
        updated_at: new Date(reconfiguredAt),
      }),
    WebhookSwitchedOff: ({ stream, data }) =>
      change(webhooks, idOf(stream), {
        switched_off_at: new Date(data.switchedOffAt),
        failing_since: new Date(data.failingSince),
      }),
    WebhookSwitchedOn: ({ stream }) => change(webhooks, idOf(stream), on),
    WebhookDeleted: ({ stream }) => [
      remove(webhooks, idOf(stream)),
      remove(replays, { webhook_id: idOf(stream).id }),
    ],
    ProjectPurged: ({ data: { projectId: project_id } }) => [
      statement(purgeReplays, [project_id]),
      remove(webhooks, { project_id }),
    ],
  },
});

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
