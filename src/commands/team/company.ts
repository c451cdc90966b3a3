import type { Alias, CompanyId, UserId } from "../../events/core/ids.ts";
import {
  type CompanyDetails,
  type CompanyEvent,
  companyEvents,
  companyStream,
} from "../../events/team/company.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Decider, Slice } from "../core/decider.ts";

export type CompanyCommand =
  | Readonly<{
      type: "CreateCompany";
      companyId: CompanyId;
      ownerId: UserId;
      alias: Alias;
      details: CompanyDetails;
      at: string;
    }>
  | Readonly<{
      type: "ChangeCompanyDetails";
      details: Partial<CompanyDetails>;
      by: UserId;
      at: string;
    }>
  | Readonly<{ type: "ChangeCompanyAlias"; alias: Alias; by: UserId; at: string }>
  | Readonly<{ type: "DeleteCompany"; by: UserId; at: string }>;

type Active = Readonly<{ status: "active"; alias: Alias; details: CompanyDetails }>;
type State = Readonly<{ status: "absent" | "deleted" }> | Active;

const decider: Decider<State, CompanyCommand, CompanyEvent> = {
  initialState: { status: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "CreateCompany": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "company.exists", "This company already exists.");
        }
        const { type: _, at: createdAt, ...rest } = command;
        return [{ type: "CompanyCreated", data: { ...rest, createdAt } }];
      }
      case "ChangeCompanyDetails": {
        const previous = mustBeActive(state).details;
        const details = { ...previous, ...command.details };
        if (sameDetails(details, previous)) return [];
        const { by: changedById, at: changedAt } = command;
        const data = { details, previous, changedById, changedAt };
        return [{ type: "CompanyDetailsChanged", data }];
      }
      case "ChangeCompanyAlias": {
        const previousAlias = mustBeActive(state).alias;
        const { alias, by: changedById, at: changedAt } = command;
        if (alias === previousAlias) return [];
        return [
          { type: "CompanyAliasChanged", data: { alias, previousAlias, changedById, changedAt } },
        ];
      }
      case "DeleteCompany":
        if (state.status === "deleted") return [];
        mustBeActive(state);
        return [
          { type: "CompanyDeleted", data: { deletedById: command.by, deletedAt: command.at } },
        ];
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "CompanyCreated":
        return { status: "active", alias: event.data.alias, details: event.data.details };
      case "CompanyDetailsChanged":
        return state.status === "active" ? { ...state, details: event.data.details } : state;
      case "CompanyAliasChanged":
        return state.status === "active" ? { ...state, alias: event.data.alias } : state;
      case "CompanyDeleted":
        return { status: "deleted" };
      default:
        return unreachable(event);
    }
  },
};

/** Sealing the same contact twice gives two texts: that counts as a change. */
function sameDetails(one: CompanyDetails, other: CompanyDetails): boolean {
  const keys = [
    "title",
    "description",
    "private",
    "avatar",
    "url",
    "contactPhone",
    "contactEmail",
  ] as const;
  return keys.every((key) => one[key] === other[key]);
}

function mustBeActive(state: State): Active {
  if (state.status === "active") return state;
  throw new Refusal("not_found", "company.not_found", "Company not found.");
}

export const company: Slice<State, CompanyCommand, typeof companyEvents> = {
  events: companyEvents,
  stream: companyStream,
  decider,
};
