import {
  type LoginVia,
  type SessionEnd,
  sessionEvents,
  sessionStream,
} from "../../events/access/session.ts";
import type { SessionId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

export type SessionCommand =
  | Readonly<{
      type: "OpenSession";
      sessionId: SessionId;
      userId: UserId;
      via: LoginVia;
      secretHash: string;
      userAgent: Sealed | null;
      at: string;
    }>
  /** `by` is null when no user requested it. */
  | Readonly<{ type: "CloseSession"; by: UserId | null; reason: SessionEnd; at: string }>;

type State =
  | Readonly<{ status: "absent" }>
  | Readonly<{ status: "open" | "closed"; userId: UserId }>;

export const session: Slice<State, SessionCommand, typeof sessionEvents> = {
  events: sessionEvents,
  stream: sessionStream,
  initialState: { status: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "OpenSession": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "session.exists", "This session exists already.");
        }
        const { type: _, at: openedAt, ...data } = command;
        return [{ type: "SessionOpened", data: { ...data, openedAt } }];
      }
      case "CloseSession": {
        const { by: closedById, reason, at: closedAt } = command;
        // Another user's session is refused like one that does not exist.
        if (state.status === "absent" || (closedById !== null && closedById !== state.userId)) {
          throw new Refusal("not_found", "session.not_found", "Session not found.");
        }
        if (state.status === "closed") return [];
        return [{ type: "SessionClosed", data: { closedById, reason, closedAt } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "SessionOpened":
        return { status: "open", userId: event.data.userId };
      case "SessionClosed":
        return state.status === "absent" ? state : { ...state, status: "closed" };
      default:
        return unreachable(event);
    }
  },
};
