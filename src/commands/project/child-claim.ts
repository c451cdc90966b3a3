import { type HeldType, holdingEvents, holdingStream } from "../../events/project/child-claim.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type At = Readonly<{ ownerId: string; at: string }>;

export type HoldingCommand =
  | (At & Readonly<{ type: "AddHolding"; heldId: string; heldType: HeldType; byCommandId: string }>)
  /** `lastId`: of what came in last when everything was checked and nothing was there. */
  | (At & Readonly<{ type: "CloseHoldings"; lastId: string | null }>)
  | (At & Readonly<{ type: "ReopenHoldings" }>);

export type HoldingState = Readonly<{
  /** Of the command that brought in what came last; another one each time. */
  lastId: string | null;
  closedAt: string | null;
}>;

export const holding: Slice<HoldingState, HoldingCommand, typeof holdingEvents> = {
  events: holdingEvents,
  stream: holdingStream,
  initialState: { lastId: null, closedAt: null },

  decide(state, command) {
    const { ownerId, at } = command;
    switch (command.type) {
      case "AddHolding": {
        const { heldId, heldType, byCommandId } = command;
        if (state.closedAt !== null) throw ownerNotFound();
        const data = { ownerId, heldId, heldType, byCommandId, addedAt: at };
        return [{ type: "HoldingAdded", data }];
      }
      case "CloseHoldings": {
        if (state.closedAt !== null) return [];
        if (state.lastId !== command.lastId) throw notEmpty();
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
      case "HoldingAdded":
        return { ...state, lastId: event.data.byCommandId };
      case "HoldingsClosed":
        return { ...state, closedAt: event.data.closedAt };
      case "HoldingsReopened":
        return { ...state, closedAt: null };
      default:
        return unreachable(event);
    }
  },
};

function ownerNotFound(): Refusal {
  return new Refusal("not_found", "owner.not_found", "There is no such owner.");
}

export function notEmpty(): Refusal {
  const message = "It still has teams, projects or repositories. Delete or transfer them first.";
  return new Refusal("unprocessable", "owner.not_empty", message);
}
