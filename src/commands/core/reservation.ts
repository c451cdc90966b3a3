import { type ReservationEvent, reservationEvents } from "../../events/core/reservation.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "./decider.ts";

export type ReservationCommand =
  | Readonly<{
      type: "ReserveName";
      holderId: string;
      /** A holder found to have never come into being: its reservation may be taken over. */
      abandonedHolderId?: string | undefined;
      at: string;
    }>
  | Readonly<{ type: "ReleaseName"; holderId: string; at: string }>;

type State = Readonly<{ holderId: string | undefined }>;

/** The id is the stream's own name: there are several categories of names. */
export const reservation: Slice<State, ReservationCommand, typeof reservationEvents> = {
  events: reservationEvents,
  stream: (name) => name,
  initialState: { holderId: undefined },

  decide(state, command) {
    switch (command.type) {
      case "ReserveName":
        return reserve(state, command);
      case "ReleaseName":
        // Already released, or reserved for another holder by now: nothing to do.
        if (state.holderId !== command.holderId) return [];
        return [
          { type: "NameReleased", data: { holderId: command.holderId, releasedAt: command.at } },
        ];
      default:
        return unreachable(command);
    }
  },

  evolve(_state, event) {
    switch (event.type) {
      case "NameReserved":
        return { holderId: event.data.holderId };
      case "NameReleased":
        return { holderId: undefined };
      default:
        return unreachable(event);
    }
  },
};

function reserve(
  state: State,
  { holderId, abandonedHolderId, at }: Extract<ReservationCommand, { type: "ReserveName" }>,
): readonly ReservationEvent[] {
  const reserved = { type: "NameReserved", data: { holderId, reservedAt: at } } as const;
  if (state.holderId === undefined) return [reserved];
  if (state.holderId === holderId) return [];
  if (state.holderId !== abandonedHolderId) {
    throw new Refusal("conflict", "reservation.taken", "The name is already taken.");
  }
  return [{ type: "NameReleased", data: { holderId: state.holderId, releasedAt: at } }, reserved];
}
