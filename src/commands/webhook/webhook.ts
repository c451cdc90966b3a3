import type { ProjectId, UserId, WebhookId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import {
  type WebhookEvent,
  type WebhookTopic,
  webhookEvents,
  webhookStream,
} from "../../events/webhook/webhook.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type Settings = Readonly<{
  url: string;
  secret: Sealed | null;
  topics: readonly WebhookTopic[];
}>;

/** The project a caller found the webhook under; another one's does not exist for them. */
type Within = Readonly<{ projectId: ProjectId }>;

export type WebhookCommand =
  | (Readonly<{ type: "CreateWebhook"; webhookId: WebhookId; by: UserId; at: string }> &
      Within &
      Settings)
  /** What is left out stays as it is. A webhook that was switched off is on again. */
  | (Readonly<{ type: "ReconfigureWebhook"; by: UserId; at: string }> & Within & Partial<Settings>)
  | (Readonly<{ type: "DeleteWebhook"; by: UserId; at: string }> & Within)
  | Readonly<{ type: "SwitchOffWebhook"; failingSince: string; at: string }>
  | (Readonly<{
      type: "RequestReplay";
      replayId: string;
      from: string;
      to: string;
      /** All that the webhook is subscribed to when left out. */
      topics?: readonly WebhookTopic[];
      /** Of deliveries that begin; no limit when left out. */
      perSecond?: number;
      by: UserId;
      at: string;
    }> &
      Within)
  | Readonly<{ type: "StartReplay"; replayId: string; total: number; at: string }>
  | Readonly<{ type: "FinishReplay"; replayId: string; outcome: ReplayOutcome; at: string }>
  | (Readonly<{ type: "CancelReplay"; replayId: string; by: UserId; at: string }> & Within);

type ReplayOutcome = Extract<WebhookEvent, { type: "WebhookReplayFinished" }>["data"]["outcome"];

type ReplayState = Readonly<{
  replayId: string;
  status: "requested" | "running" | "finished" | "canceled";
}>;

export type WebhookState =
  | Readonly<{ status: "absent" }>
  | Readonly<{ status: "deleted" }>
  | (Readonly<{
      status: "on" | "off";
      projectId: ProjectId;
      /** Times of the last requests for a replay. */
      replaysAt: readonly string[];
      /** The last replays; of older ones no delivery is under way. */
      replays: readonly ReplayState[];
    }> &
      Settings);

type Existing = Extract<WebhookState, { status: "on" | "off" }>;

/** Each reads the history of a project and sends up to 10,000 deliveries. */
const replaysPerHour = 10;
const hourMs = 3_600_000;
/** A delivery ends within a day of its first attempt. */
const replaysKept = 500;

function mustBeWithinReplayLimit(replaysAt: readonly string[], at: string): void {
  const [oldest] = replaysAt;
  if (oldest === undefined || replaysAt.length < replaysPerHour) return;
  const waitMs = Date.parse(oldest) + hourMs - Date.parse(at);
  if (waitMs <= 0) return;
  const message = `History is sent again at most ${replaysPerHour} times an hour.`;
  throw new Refusal("too_many", "webhook.too_many_replays", message, {
    retryAfterSeconds: Math.ceil(waitMs / 1_000),
  });
}

export const webhook: Slice<WebhookState, WebhookCommand, typeof webhookEvents> = {
  events: webhookEvents,
  stream: webhookStream,
  initialState: { status: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "CreateWebhook": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "webhook.exists", "This webhook already exists.");
        }
        const { type: _, topics, by: createdById, at: createdAt, ...rest } = command;
        const data = { ...rest, topics: normalised(topics), createdById, createdAt };
        return [{ type: "WebhookCreated", data }];
      }
      case "ReconfigureWebhook":
        return reconfigure(mustExist(state, command), command);
      case "DeleteWebhook": {
        // Deleting twice is not an error: the second click changes nothing.
        if (state.status === "deleted") return [];
        mustExist(state, command);
        return [
          { type: "WebhookDeleted", data: { deletedById: command.by, deletedAt: command.at } },
        ];
      }
      case "SwitchOffWebhook": {
        if (state.status !== "on") return [];
        const { failingSince, at: switchedOffAt } = command;
        return [{ type: "WebhookSwitchedOff", data: { failingSince, switchedOffAt } }];
      }
      case "RequestReplay": {
        const { topics: subscribed, replaysAt } = mustExist(state, command);
        mustBeWithinReplayLimit(replaysAt, command.at);
        const { replayId, from, to, topics = subscribed, perSecond, by, at } = command;
        mustSendSomething(topics);
        const pace = perSecond === undefined ? {} : { perSecond };
        const data = { replayId, from, to, ...pace, requestedById: by, requestedAt: at };
        return [{ type: "WebhookReplayRequested", data: { ...data, topics: normalised(topics) } }];
      }
      case "StartReplay": {
        const { replayId, total, at: startedAt } = command;
        if (replayStatus(state, replayId) !== "requested") return [];
        return [{ type: "WebhookReplayStarted", data: { replayId, total, startedAt } }];
      }
      case "FinishReplay": {
        const { replayId, outcome, at: finishedAt } = command;
        const status = replayStatus(state, replayId);
        if (status !== "requested" && status !== "running") return [];
        return [{ type: "WebhookReplayFinished", data: { replayId, outcome, finishedAt } }];
      }
      case "CancelReplay": {
        const { replayId, by: canceledById, at: canceledAt } = command;
        const status = replayStatus(mustExist(state, command), replayId);
        if (status === undefined) {
          throw new Refusal("not_found", "webhook_replay.not_found", "Replay not found.");
        }
        // All deliveries of a finished one are in line, and some of them may not have been sent.
        if (status === "canceled") return [];
        return [{ type: "WebhookReplayCanceled", data: { replayId, canceledById, canceledAt } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "WebhookCreated": {
        const { projectId, url, secret, topics } = event.data;
        return { status: "on", projectId, url, secret, topics, replaysAt: [], replays: [] };
      }
      case "WebhookReconfigured": {
        const { url, secret, topics } = event.data;
        return exists(state) ? { ...state, url, secret, topics } : state;
      }
      case "WebhookDeleted":
        return { status: "deleted" };
      case "WebhookSwitchedOff":
        return exists(state) ? { ...state, status: "off" } : state;
      case "WebhookSwitchedOn":
        return exists(state) ? { ...state, status: "on" } : state;
      case "WebhookReplayRequested": {
        if (!exists(state)) return state;
        const replaysAt = [...state.replaysAt, event.data.requestedAt].slice(-replaysPerHour);
        const replay = { replayId: event.data.replayId, status: "requested" } as const;
        return { ...state, replaysAt, replays: [...state.replays, replay].slice(-replaysKept) };
      }
      case "WebhookReplayStarted":
        return withReplay(state, event.data.replayId, "running");
      case "WebhookReplayFinished":
        return withReplay(state, event.data.replayId, "finished");
      case "WebhookReplayCanceled":
        return withReplay(state, event.data.replayId, "canceled");
      default:
        return unreachable(event);
    }
  },
};

/** How a replay stands; undefined for one that the webhook does not have. */
export function replayStatus(
  state: WebhookState,
  replayId: string,
): ReplayState["status"] | undefined {
  if (!exists(state)) return undefined;
  return state.replays.find((replay) => replay.replayId === replayId)?.status;
}

function withReplay(
  state: WebhookState,
  replayId: string,
  status: ReplayState["status"],
): WebhookState {
  if (!exists(state)) return state;
  const replays = state.replays.map((replay) =>
    replay.replayId === replayId ? { replayId, status } : replay,
  );
  return { ...state, replays };
}

function reconfigure(
  state: Existing,
  { url, secret, topics, by, at }: Extract<WebhookCommand, { type: "ReconfigureWebhook" }>,
): readonly WebhookEvent[] {
  const events: WebhookEvent[] = [
    {
      type: "WebhookReconfigured",
      data: {
        url: url ?? state.url,
        secret: secret === undefined ? state.secret : secret,
        topics: normalised(topics ?? state.topics),
        reconfiguredById: by,
        reconfiguredAt: at,
      },
    },
  ];
  if (state.status === "off") {
    events.push({ type: "WebhookSwitchedOn", data: { switchedOnById: by, switchedOnAt: at } });
  }
  return events;
}

function mustSendSomething(topics: readonly WebhookTopic[]): void {
  if (topics.length > 0) return;
  const message = "The webhook is subscribed to no event. Name in `events` those to send.";
  throw new Refusal("unprocessable", "webhook_replay.no_events", message);
}

function exists(state: WebhookState): state is Existing {
  return state.status === "on" || state.status === "off";
}

function mustExist(state: WebhookState, { projectId }: Within): Existing {
  if (exists(state) && state.projectId === projectId) return state;
  throw new Refusal("not_found", "webhook.not_found", "Webhook not found.");
}

const normalised = (topics: readonly WebhookTopic[]): WebhookTopic[] => [...new Set(topics)].sort();
