import { webhookLogEvents, webhookLogStream } from "../../events/webhook/log.ts";
import { unreachable } from "../../platform/invariant.ts";
import type { Slice } from "../core/decider.ts";

export type WebhookLogCommand = Readonly<{
  type: "PurgeWebhookLog";
  /** ISO instant: deliveries that ended earlier go. */
  endedBefore: string;
  at: string;
}>;

/** What ended earlier is gone already; empty: nothing is. */
type State = Readonly<{ endedBefore: string }>;

export const webhookLog: Slice<State, WebhookLogCommand, typeof webhookLogEvents> = {
  events: webhookLogEvents,
  stream: webhookLogStream,
  initialState: { endedBefore: "" },

  decide(state, command) {
    switch (command.type) {
      case "PurgeWebhookLog": {
        const { endedBefore, at: purgedAt } = command;
        // Instants of this form sort by their text.
        if (endedBefore <= state.endedBefore) return [];
        return [{ type: "WebhookLogPurged", data: { endedBefore, purgedAt } }];
      }
      default:
        return unreachable(command.type);
    }
  },

  evolve(_state, event) {
    switch (event.type) {
      case "WebhookLogPurged":
        return { endedBefore: event.data.endedBefore };
      default:
        return unreachable(event.type);
    }
  },
};
