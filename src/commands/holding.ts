import {
  type HeldType,
  type HoldingEvent,
  holdingEvents,
  holdingStream,
} from "../events/holding.ts";
import { unreachable } from "../platform/invariant.ts";
import { Refusal } from "../platform/refusal.ts";
import type { Decider, Slice } from "./decider.ts";

type At = Readonly<{ ownerId: string; at: string }>;

export type HoldingCommand =
  | (At & Readonly<{ type: "AddHolding"; heldId: string; heldType: HeldType; byCommandId: string }>)
  /** `gone`: what was looked up and is not there, or is somebody else's by now. */
  | (At & Readonly<{ type: "CloseHoldings"; gone: ReadonlySet<string> }>)
  | (At & Readonly<{ type: "ReopenHoldings" }>);

export type Held = Readonly<{ heldType: HeldType; byCommandId: string; addedAt: string }>;
export type HoldingState = Readonly<{
  /** By id: whatever came in at some time, as it did the last time. */
  held: ReadonlyMap<string, Held>;
  closedAt: string | null;
}>;

const decider: Decider<HoldingState, HoldingCommand, HoldingEvent> = {
  initialState: { held: new Map(), closedAt: null },

  decide(state, command) {
    const { ownerId, at } = command;
    switch (command.type) {
      case "AddHolding": {
        const { heldId, heldType, byCommandId } = command;
        if (state.closedAt !== null) throw ownerGone();
        const data = { ownerId, heldId, heldType, byCommandId, addedAt: at };
        return [{ type: "HoldingAdded", data }];
      }
      case "CloseHoldings": {
        if (state.closedAt !== null) return [];
        if ([...state.held.keys()].some((id) => !command.gone.has(id))) throw notEmpty();
        return [{ type: "HoldingsClosed", data: { ownerId, closedAt: at } }];
      }
      case "ReopenHoldings":
        if (state.closedAt === null) return [];
        return [{ type: "HoldingsReopened", data: { ownerId, reopenedAt: at } }];
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "HoldingAdded": {
        const { heldId, heldType, byCommandId, addedAt } = event.data;
        const held = new Map(state.held).set(heldId, { heldType, byCommandId, addedAt });
        return { ...state, held };
      }
      case "HoldingsClosed":
        return { ...state, closedAt: event.data.closedAt };
      case "HoldingsReopened":
        return { ...state, closedAt: null };
      default:
        return unreachable(event);
    }
  },
};

export const holding: Slice<HoldingState, HoldingCommand, typeof holdingEvents> = {
  events: holdingEvents,
  stream: holdingStream,
  decider,
};

function ownerGone(): Refusal {
  return new Refusal("not_found", "owner.not_found", "There is no such owner.");
}

function notEmpty(): Refusal {
  const message = "Something still belongs to it.";
  return new Refusal("unprocessable", "owner.not_empty", message);
}
