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
import type { Decider, Slice } from "../core/decider.ts";

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
  | Readonly<{ type: "ChangeTeamDetails"; details: Partial<TeamDetails>; by: UserId; at: string }>
  | Readonly<{ type: "ChangeTeamAlias"; alias: Alias; by: UserId; at: string }>
  | Readonly<{
      type: "TransferTeam";
      ownerId: string;
      ownerType: TeamOwnerType;
      /** When given, it must still belong to that one. */
      fromOwnerId?: string;
      by: UserId;
      at: string;
    }>
  | Readonly<{ type: "DeleteTeam"; by: UserId; at: string }>;

type Active = Readonly<{
  status: "active";
  alias: Alias;
  ownerId: string;
  ownerType: TeamOwnerType;
  details: TeamDetails;
}>;
type State = Readonly<{ status: "absent" | "deleted" }> | Active;

const decider: Decider<State, TeamCommand, TeamEvent> = {
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
      case "ChangeTeamDetails": {
        const previous = mustBeActive(state).details;
        const details = { ...previous, ...command.details };
        if (sameDetails(details, previous)) return [];
        const { by: changedById, at: changedAt } = command;
        return [
          { type: "TeamDetailsChanged", data: { details, previous, changedById, changedAt } },
        ];
      }
      case "ChangeTeamAlias": {
        const previousAlias = mustBeActive(state).alias;
        const { alias, by: changedById, at: changedAt } = command;
        if (alias === previousAlias) return [];
        return [
          { type: "TeamAliasChanged", data: { alias, previousAlias, changedById, changedAt } },
        ];
      }
      case "TransferTeam":
        return transfer(mustBeActive(state), command);
      case "DeleteTeam":
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
        return change(state, { details: event.data.details });
      case "TeamAliasChanged":
        return change(state, { alias: event.data.alias });
      case "TeamTransferred":
        return change(state, { ownerId: event.data.ownerId, ownerType: event.data.ownerType });
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

const change = (state: State, over: Partial<Omit<Active, "status">>): State =>
  state.status === "active" ? { ...state, ...over } : state;

function sameDetails(one: TeamDetails, other: TeamDetails): boolean {
  const keys = ["title", "description", "private", "avatar"] as const;
  return keys.every((key) => one[key] === other[key]);
}

function mustBeActive(state: State): Active {
  if (state.status === "active") return state;
  throw new Refusal("not_found", "team.not_found", "Team not found.");
}

export const team: Slice<State, TeamCommand, typeof teamEvents> = {
  events: teamEvents,
  stream: teamStream,
  decider,
};
