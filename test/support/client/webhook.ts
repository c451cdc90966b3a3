import type { AnyEvent } from "../../../src/events/core/event.ts";
import { at } from "../app/history.ts";

/** Ids and events of one webhook, for tests that need any. */
export const projectId = "7d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f";
export const userId = "0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d";
export const webhookId = "5a6b7c8d-9e0f-4a1b-8c2d-3e4f5a6b7c8d";

type Data = Readonly<Record<string, unknown>>;

export const webhookCreated = (over: Data = {}): AnyEvent => ({
  type: "WebhookCreated",
  data: {
    webhookId,
    projectId,
    url: "https://hooks.example.com/",
    secret: "sealed.project-1.AAAA",
    topics: ["BRANCH_CREATE", "TAG_CREATE"],
    createdById: userId,
    createdAt: at,
    ...over,
  },
});

export const webhookReconfigured = (over: Data = {}): AnyEvent => ({
  type: "WebhookReconfigured",
  data: {
    url: "https://b.example.com/",
    secret: null,
    topics: ["MERGE"],
    reconfiguredById: userId,
    reconfiguredAt: "2026-01-03T00:00:00.000Z",
    ...over,
  },
});

export const webhookDeleted: AnyEvent = {
  type: "WebhookDeleted",
  data: { deletedById: userId, deletedAt: at },
};

export const switchedOff: AnyEvent = {
  type: "WebhookSwitchedOff",
  data: { failingSince: "2025-12-28T00:00:00.000Z", switchedOffAt: at },
};

export const switchedOn: AnyEvent = {
  type: "WebhookSwitchedOn",
  data: { switchedOnById: userId, switchedOnAt: at },
};

const whose = { webhookId, projectId, action: "BRANCH_CREATE" };

export const deliveryScheduled = (deliveryId: string, over: Data = {}): AnyEvent => ({
  type: "WebhookDeliveryScheduled",
  data: {
    ...whose,
    deliveryId,
    body: "sealed.project-1.BBBB",
    redeliveryOf: null,
    scheduledAt: at,
    ...over,
  },
});

const attempt = {
  ...whose,
  attempt: 1,
  url: "https://hooks.example.com/",
  startedAt: at,
  connectMs: 1,
  firstByteMs: 2,
  totalMs: 3,
};

export const attemptFailed = (over: Data = {}): AnyEvent => ({
  type: "WebhookDeliveryAttemptFailed",
  data: {
    ...attempt,
    status: 500,
    response: "sealed.project-1.CCCC",
    failure: "status",
    nextAttemptAt: "2026-01-02T03:04:10.678Z",
    ...over,
  },
});

export const deliverySucceeded = (over: Data = {}): AnyEvent => ({
  type: "WebhookDeliverySucceeded",
  data: { ...attempt, status: 200, response: "sealed.project-1.DDDD", ...over },
});

export const deliveryAbandoned: AnyEvent = {
  type: "WebhookDeliveryAbandoned",
  data: { ...whose, reason: "webhook_switched_off", abandonedAt: at },
};
