import type { ProjectId, WebhookDeliveryId, WebhookId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import {
  type WebhookAction,
  type WebhookDeliveryEvent,
  webhookDeliveryEvents,
  webhookDeliveryStream,
} from "../../events/webhook/delivery.ts";
import { invariant, unreachable } from "../../platform/invariant.ts";
import type { Slice } from "../core/decider.ts";
import { delayToNextAttemptMs } from "./schedule.ts";

export type AttemptRecord = Readonly<{
  attempt: number;
  url: string;
  startedAt: string;
  connectMs: number | null;
  firstByteMs: number | null;
  totalMs: number;
  status: number | null;
  /** Headers and the beginning of the body; null when there was no answer. */
  response: Sealed | null;
  /** Why there was no answer; null when there was one. */
  failure: string | null;
  /** The wait that the answer requested. */
  retryAfterMs: number | null;
}>;

export type WebhookDeliveryCommand =
  | Readonly<{
      type: "ScheduleDelivery";
      deliveryId: WebhookDeliveryId;
      webhookId: WebhookId;
      projectId: ProjectId;
      action: WebhookAction;
      body: Sealed;
      redeliveryOf: WebhookDeliveryId | null;
      replayId?: string;
      at: string;
    }>
  | (Readonly<{
      type: "RecordAttempt";
      /** From -1 to 1, spreads the retries; drawn by the caller. */
      jitter: number;
      at: string;
    }> &
      AttemptRecord)
  | Readonly<{
      type: "AbandonDelivery";
      reason: Extract<WebhookDeliveryEvent, { type: "WebhookDeliveryAbandoned" }>["data"]["reason"];
      at: string;
    }>;

export type WebhookDeliveryState =
  | Readonly<{ status: "absent" }>
  | Readonly<{
      status: "pending" | "succeeded" | "failed" | "abandoned";
      webhookId: WebhookId;
      projectId: ProjectId;
      action: WebhookAction;
      body: Sealed;
      /** The replay that it belongs to; undefined for what is sent when it happens. */
      replayId: string | undefined;
      /** Attempts made. */
      attempts: number;
      /** When the last attempt failed and another one follows. */
      nextAttemptAt: string | null;
    }>;

type ExistingDelivery = Exclude<WebhookDeliveryState, { status: "absent" }>;

export const webhookDelivery: Slice<
  WebhookDeliveryState,
  WebhookDeliveryCommand,
  typeof webhookDeliveryEvents
> = {
  events: webhookDeliveryEvents,
  stream: webhookDeliveryStream,
  initialState: { status: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "ScheduleDelivery": {
        // The same event scheduled again, after a crash in between.
        if (state.status !== "absent") return [];
        const { type: _, at: scheduledAt, ...rest } = command;
        return [{ type: "WebhookDeliveryScheduled", data: { ...rest, scheduledAt } }];
      }
      case "RecordAttempt": {
        invariant(state.status !== "absent", "an attempt belongs to a scheduled delivery");
        // An attempt sent twice, after a crash before it was recorded or by two workers, is recorded once.
        if (state.status !== "pending" || command.attempt !== state.attempts + 1) return [];
        return [outcome(state, command)];
      }
      case "AbandonDelivery": {
        if (state.status !== "pending") return [];
        const { webhookId, projectId, action } = state;
        const { reason, at: abandonedAt } = command;
        const data = { webhookId, projectId, action, reason, abandonedAt };
        return [{ type: "WebhookDeliveryAbandoned", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    if (event.type === "WebhookDeliveryScheduled") {
      const { webhookId, projectId, action, body, replayId } = event.data;
      const replayed = { webhookId, projectId, action, body, replayId };
      return { status: "pending", ...replayed, attempts: 0, nextAttemptAt: null };
    }
    if (state.status === "absent") return state;
    switch (event.type) {
      case "WebhookDeliverySucceeded":
        return {
          ...state,
          status: "succeeded",
          attempts: event.data.attempt,
          nextAttemptAt: null,
        };
      case "WebhookDeliveryAttemptFailed": {
        const { attempt, nextAttemptAt } = event.data;
        const status = nextAttemptAt === null ? "failed" : "pending";
        return { ...state, status, attempts: attempt, nextAttemptAt };
      }
      case "WebhookDeliveryAbandoned":
        return { ...state, status: "abandoned", nextAttemptAt: null };
      default:
        return unreachable(event);
    }
  },
};

function outcome(
  { webhookId, projectId, action }: ExistingDelivery,
  command: Extract<WebhookDeliveryCommand, { type: "RecordAttempt" }>,
): WebhookDeliveryEvent {
  const { attempt, url, startedAt, connectMs, firstByteMs, totalMs, status, response } = command;
  const times = { startedAt, connectMs, firstByteMs, totalMs };
  const data = { webhookId, projectId, action, attempt, url, ...times };

  if (status !== null && response !== null && status >= 200 && status <= 299) {
    return { type: "WebhookDeliverySucceeded", data: { ...data, status, response } };
  }
  const delayMs = delayToNextAttemptMs(command);
  const nextAttemptAt =
    delayMs === undefined ? null : new Date(Date.parse(command.at) + delayMs).toISOString();
  const failure = command.failure ?? "status";
  return {
    type: "WebhookDeliveryAttemptFailed",
    data: { ...data, status, response, failure, nextAttemptAt },
  };
}
