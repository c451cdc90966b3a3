import type { LoginConnectionId, UserId } from "../../events/core/ids.ts";
import {
  type ConnectionDetails,
  type ConnectionKind,
  loginConnectionEvents,
  loginConnectionStream,
} from "../../events/login/connection.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type By = Readonly<{ by: UserId; at: string }>;

export type LoginConnectionCommand =
  | (By &
      Readonly<{
        type: "CreateLoginConnection";
        connectionId: LoginConnectionId;
        details: ConnectionDetails;
      }>)
  | (By & Readonly<{ type: "ChangeLoginConnection"; details: ConnectionDetails }>)
  | (By & Readonly<{ type: "SetLoginConnectionStatus"; kind: ConnectionKind; enabled: boolean }>);

type State =
  | Readonly<{ status: "absent" }>
  | Readonly<{ status: "disabled" | "enabled"; details: ConnectionDetails }>;

export const loginConnection: Slice<State, LoginConnectionCommand, typeof loginConnectionEvents> = {
  events: loginConnectionEvents,
  stream: loginConnectionStream,
  initialState: { status: "absent" },

  decide(state, command) {
    const { by, at } = command;
    switch (command.type) {
      case "CreateLoginConnection": {
        if (state.status !== "absent") throw exists();
        const { connectionId, details } = command;
        const data = { connectionId, details, createdById: by, createdAt: at };
        return [{ type: "LoginConnectionCreated", data }];
      }
      case "ChangeLoginConnection": {
        const { details } = command;
        if (same(ofKind(state, details.kind).details, details)) return [];
        const data = { details, changedById: by, changedAt: at };
        return [{ type: "LoginConnectionChanged", data }];
      }
      case "SetLoginConnectionStatus": {
        const { kind, enabled } = command;
        if ((ofKind(state, kind).status === "enabled") === enabled) return [];
        return enabled
          ? [{ type: "LoginConnectionEnabled", data: { enabledById: by, enabledAt: at } }]
          : [{ type: "LoginConnectionDisabled", data: { disabledById: by, disabledAt: at } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "LoginConnectionCreated":
        return { status: "disabled", details: event.data.details };
      case "LoginConnectionChanged":
        return state.status === "absent" ? state : { ...state, details: event.data.details };
      case "LoginConnectionEnabled":
        return state.status === "absent" ? state : { ...state, status: "enabled" };
      case "LoginConnectionDisabled":
        return state.status === "absent" ? state : { ...state, status: "disabled" };
      default:
        return unreachable(event);
    }
  },
};

/** A connection of another kind is not found, because each kind has paths of its own. */
function ofKind(state: State, kind: ConnectionKind): Exclude<State, { status: "absent" }> {
  if (state.status !== "absent" && state.details.kind === kind) return state;
  throw new Refusal("not_found", "login_connection.not_found", "Connection not found.");
}

/** Sealing the same text gives another value each time, so changes are detected by digests. */
function same(one: ConnectionDetails, other: ConnectionDetails): boolean {
  return JSON.stringify(withoutSealed(one)) === JSON.stringify(withoutSealed(other));
}

function withoutSealed(details: ConnectionDetails): Readonly<Record<string, unknown>> {
  const sealed = new Set(["cert", "caCert", "bindPassword", "clientSecret"]);
  const entries = Object.entries(details).filter(([name]) => !sealed.has(name));
  return Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b)));
}

function exists(): Refusal {
  const message = "This connection exists already.";
  return new Refusal("conflict", "login_connection.exists", message);
}
