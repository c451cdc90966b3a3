import type { Alias, TeamId, UserId } from "../../events/core/ids.ts";
import {
  type TeamDetails,
  type TeamEvent,
  type TeamOwnerType,
  teamEvents,
  teamStream,
} from "../../events/team/team.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";
import {
  type ActiveHolder,
  aliasChange,
  detailsChange,
  type HolderCommand,
  type HolderState,
  withChange,
} from "./alias-holder-state.ts";

export type TeamCommand =
  | Readonly<{
      type: "CreateTeam";
      teamId: TeamId;
      ownerId: string;
      ownerType: TeamOwnerType;
      alias: Alias;
      details: TeamDetails;
      by: UserId;
      at: string;
    }>
  | HolderCommand<TeamDetails>
  | Readonly<{
      type: "TransferTeam";
      ownerId: string;
      ownerType: TeamOwnerType;
      /** When given, it must still belong to that one. */
      fromOwnerId?: string;
      by: UserId;
      at: string;
    }>;

type Active = ActiveHolder<TeamDetails> & Readonly<{ ownerId: string; ownerType: TeamOwnerType }>;
type State = HolderState<Active>;

export const team: Slice<State, TeamCommand, typeof teamEvents> = {
  events: teamEvents,
  stream: teamStream,
  initialState: { status: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "CreateTeam": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "team.exists", "This team already exists.");
        }
        const { type: _, by: createdById, at: createdAt, ...rest } = command;
        return [{ type: "TeamCreated", data: { ...rest, createdById, createdAt } }];
      }
      case "ChangeDetails": {
        const data = detailsChange(mustBeActive(state), command);
        return data === undefined ? [] : [{ type: "TeamDetailsChanged", data }];
      }
      case "ChangeAlias": {
        const data = aliasChange(mustBeActive(state), command);
        return data === undefined ? [] : [{ type: "TeamAliasChanged", data }];
      }
      case "TransferTeam":
        return transfer(mustBeActive(state), command);
      case "DeleteAliasHolder":
        if (state.status === "deleted") return [];
        mustBeActive(state);
        return [{ type: "TeamDeleted", data: { deletedById: command.by, deletedAt: command.at } }];
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "TeamCreated": {
        const { alias, ownerId, ownerType, details } = event.data;
        return { status: "active", alias, ownerId, ownerType, details };
      }
      case "TeamDetailsChanged":
        return withChange(state, { details: event.data.details });
      case "TeamAliasChanged":
        return withChange(state, { alias: event.data.alias });
      case "TeamTransferred":
        return withChange(state, { ownerId: event.data.ownerId, ownerType: event.data.ownerType });
      case "TeamDeleted":
        return { status: "deleted" };
      default:
        return unreachable(event);
    }
  },
};

function transfer(
  { ownerId: previousOwnerId, ownerType: previousOwnerType }: Active,
  { ownerId, ownerType, fromOwnerId, by, at }: Extract<TeamCommand, { type: "TransferTeam" }>,
): readonly TeamEvent[] {
  if (ownerId === previousOwnerId) return [];
  if ((fromOwnerId ?? previousOwnerId) !== previousOwnerId) {
    throw new Refusal("conflict", "team.changed", "Another request changed the team just now.");
  }
  const previous = { previousOwnerId, previousOwnerType };
  const done = { transferredById: by, transferredAt: at };
  return [{ type: "TeamTransferred", data: { ownerId, ownerType, ...previous, ...done } }];
}

function mustBeActive(state: State): Active {
  if (state.status === "active") return state;
  throw new Refusal("not_found", "team.not_found", "Team not found.");
}
