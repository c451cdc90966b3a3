import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId, UserId, WebhookId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** What a webhook can subscribe to. */
export const webhookTopics = [
  "COLLABORATOR_ADD",
  "COLLABORATOR_DELETE",
  "COLLABORATOR_UPDATE",
  "ISSUE_UPDATE",
  "ISSUE_CREATE",
  "NEW_ISSUE_NOTE",
  "TAG_DELETE",
  "TAG_CREATE",
  "TAG_UPDATE",
  "BRANCH_UPDATE",
  "BRANCH_DELETE",
  "BRANCH_CREATE",
  "MERGE_REQUEST_CREATE",
  "MERGE_REQUEST_UPDATE",
  "MERGE",
  "MERGE_REQUEST_CLOSE",
  "MERGE_REQUEST_CANCEL",
  "MERGE_REQUEST_ACCEPT",
  "DISCUSSION_CREATE",
  "DISCUSSION_COMMENT_CREATE",
  "PIPELINE_NEW",
  "PIPELINE_SUCCESS",
  "PIPELINE_FAIL",
  "PIPELINE_WARNING",
  "WEBHOOK_SEND",
] as const;

export const WebhookTopic = z.enum(webhookTopics);
export type WebhookTopic = z.output<typeof WebhookTopic>;

const Settings = z.object({
  url: z.string().min(1),
  /** Sent with every delivery and signs it; null for none. */
  secret: Sealed.nullable(),
  topics: z.array(WebhookTopic),
});

export const webhookEvents = {
  WebhookCreated: Settings.extend({
    webhookId: WebhookId,
    projectId: ProjectId,
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  WebhookReconfigured: Settings.extend({ reconfiguredById: UserId, reconfiguredAt: IsoInstant }),
  WebhookDeleted: z.object({ deletedById: UserId, deletedAt: IsoInstant }),
  /** By the system: nothing sent since `failingSince` arrived. */
  WebhookSwitchedOff: z.object({ failingSince: IsoInstant, switchedOffAt: IsoInstant }),
  WebhookSwitchedOn: z.object({ switchedOnById: UserId, switchedOnAt: IsoInstant }),
  /** What happened from `from` up to, not including, `to` shall be sent again. */
  WebhookReplayRequested: z.object({
    replayId: z.uuid(),
    from: IsoInstant,
    to: IsoInstant,
    topics: z.array(WebhookTopic),
    /** At most so many deliveries begin in a second; left out when there is no limit. */
    perSecond: z.int().positive().optional(),
    requestedById: UserId,
    requestedAt: IsoInstant,
  }),
  /** By the system: so many deliveries will be made. */
  WebhookReplayStarted: z.object({
    replayId: z.uuid(),
    total: z.int().nonnegative(),
    startedAt: IsoInstant,
  }),
  /** By the system: all deliveries are in line, or no more follow because the webhook is off or the project deleted. */
  WebhookReplayFinished: z.object({
    replayId: z.uuid(),
    outcome: z.enum(["scheduled", "webhook_switched_off", "project_deleted"]),
    finishedAt: IsoInstant,
  }),
  /** What was not sent yet is not sent any more. */
  WebhookReplayCanceled: z.object({
    replayId: z.uuid(),
    canceledById: UserId,
    canceledAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type WebhookEvent = EventOf<typeof webhookEvents>;

export const webhookStream = (id: string): string => streamName("webhook", id);
