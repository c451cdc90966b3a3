import { type MailEvent, mailEvents, mailStream } from "../../events/user/mail.ts";
import { unreachable } from "../../platform/invariant.ts";
import type { Slice } from "../core/decider.ts";

type Scheduled = Extract<MailEvent, { type: "MailScheduled" }>["data"];

export type MailCommand =
  | Readonly<{ type: "ScheduleMail"; mail: Omit<Scheduled, "scheduledAt">; at: string }>
  | Readonly<{ type: "RecordMailSent"; at: string }>
  | Readonly<{ type: "GiveUpMail"; reason: string; at: string }>
  | Readonly<{ type: "RemoveMail"; at: string }>;

export type MailState =
  | Readonly<{ status: "absent" }>
  | Readonly<{ status: "waiting" | "sent" | "failed" | "removed"; mail: Scheduled }>;

export const mail: Slice<MailState, MailCommand, typeof mailEvents> = {
  events: mailEvents,
  stream: mailStream,
  initialState: { status: "absent" },

  /** What comes too late changes nothing: jobs run again. */
  decide(state, command) {
    const { at } = command;
    switch (command.type) {
      case "ScheduleMail":
        if (state.status !== "absent") return [];
        return [{ type: "MailScheduled", data: { ...command.mail, scheduledAt: at } }];
      case "RecordMailSent":
        if (state.status !== "waiting") return [];
        return [{ type: "MailSent", data: { sentAt: at } }];
      case "GiveUpMail":
        if (state.status !== "waiting") return [];
        return [{ type: "MailFailed", data: { reason: command.reason, failedAt: at } }];
      case "RemoveMail":
        if (state.status === "absent" || state.status === "removed") return [];
        return [{ type: "MailRemoved", data: { removedAt: at } }];
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    if (event.type === "MailScheduled") return { status: "waiting", mail: event.data };
    if (state.status === "absent") return state;
    switch (event.type) {
      case "MailSent":
        return { ...state, status: "sent" };
      case "MailFailed":
        return { ...state, status: "failed" };
      case "MailRemoved":
        return { ...state, status: "removed" };
      default:
        return unreachable(event);
    }
  },
};
