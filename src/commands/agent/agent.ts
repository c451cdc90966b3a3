import {
  type AgentId,
  type AgentOwner,
  type AgentSettings,
  agentEvents,
  agentStream,
} from "../../events/agent/agent.ts";
import type { UserId } from "../../events/core/ids.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

export type AgentCommand = Readonly<{ at: string }> &
  Readonly<
    | {
        type: "RegisterAgent";
        agentId: AgentId;
        owner: AgentOwner;
        settings: AgentSettings;
        tokenHash: string;
      }
    /** What is left out stays as it is. */
    | { type: "ReconfigureAgent"; change: Partial<AgentSettings>; by: UserId }
    | { type: "ResetAgentToken" | "ConfirmAgentToken"; tokenHash: string }
    | { type: "RemoveAgent"; by: UserId | null }
  >;

export type AgentState =
  | Readonly<{ kind: "absent" }>
  | Readonly<{ kind: "removed" }>
  | Readonly<{
      kind: "existing";
      settings: AgentSettings;
      tokenHash: string;
      /** The token that stays valid until the newest one is used. */
      formerHash: string | null;
    }>;

type Existing = Extract<AgentState, { kind: "existing" }>;

export const agent: Slice<AgentState, AgentCommand, typeof agentEvents> = {
  events: agentEvents,
  stream: agentStream,
  initialState: { kind: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "RegisterAgent": {
        if (state.kind !== "absent") throw new Error("An agent is registered once");
        const { agentId, owner, settings, tokenHash, at: registeredAt } = command;
        const data = { agentId, owner, settings: normalised(settings), tokenHash, registeredAt };
        return [{ type: "AgentRegistered", data }];
      }
      case "ReconfigureAgent": {
        const { settings } = mustExist(state);
        const changed = normalised({ ...settings, ...command.change });
        const data = { reconfiguredById: command.by, reconfiguredAt: command.at };
        return [{ type: "AgentReconfigured", data: { settings: changed, ...data } }];
      }
      case "ResetAgentToken": {
        mustExist(state);
        const { tokenHash, at: resetAt } = command;
        return [{ type: "AgentTokenReset", data: { tokenHash, resetAt } }];
      }
      case "ConfirmAgentToken": {
        const { tokenHash, formerHash } = mustExist(state);
        if (formerHash === null || tokenHash !== command.tokenHash) return [];
        return [{ type: "AgentTokenConfirmed", data: { tokenHash, confirmedAt: command.at } }];
      }
      case "RemoveAgent":
        // Removing twice is no error: the second request changes nothing.
        if (state.kind === "removed") return [];
        mustExist(state);
        return [{ type: "AgentRemoved", data: { removedById: command.by, removedAt: command.at } }];
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    if (event.type === "AgentRegistered") {
      const { settings, tokenHash } = event.data;
      return { kind: "existing", settings, tokenHash, formerHash: null };
    }
    if (state.kind !== "existing") return state;
    switch (event.type) {
      case "AgentReconfigured":
        return { ...state, settings: event.data.settings };
      case "AgentTokenReset":
        // After a second reset in a row the token that the agent has is still the one before both.
        return {
          ...state,
          tokenHash: event.data.tokenHash,
          formerHash: state.formerHash ?? state.tokenHash,
        };
      case "AgentTokenConfirmed":
        return { ...state, formerHash: null };
      case "AgentRemoved":
        return { kind: "removed" };
      default:
        return unreachable(event);
    }
  },
};

/** @throws Refusal 422 for an agent that could take no job at all */
function normalised(settings: AgentSettings): AgentSettings {
  const tags = [...new Set(settings.tags)].sort();
  if (tags.length === 0 && !settings.runUntagged) {
    const message = "An agent without tags must run untagged jobs.";
    throw new Refusal("unprocessable", "agent.takes_nothing", message, {
      errors: [{ field: "runUntagged", code: "agent.takes_nothing", message }],
    });
  }
  return { ...settings, tags };
}

function mustExist(state: AgentState): Existing {
  if (state.kind === "existing") return state;
  throw agentNotFound();
}

export function agentNotFound(): Refusal {
  return new Refusal("not_found", "agent.not_found", "Agent not found.");
}
