import type { Alias, CompanyId, UserId } from "../../events/core/ids.ts";
import { type CompanyDetails, companyEvents, companyStream } from "../../events/team/company.ts";
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

export type CompanyCommand =
  | Readonly<{
      type: "CreateCompany";
      companyId: CompanyId;
      ownerId: UserId;
      alias: Alias;
      details: CompanyDetails;
      at: string;
    }>
  | HolderCommand<CompanyDetails>;

type Active = ActiveHolder<CompanyDetails>;
type State = HolderState<Active>;

export const company: Slice<State, CompanyCommand, typeof companyEvents> = {
  events: companyEvents,
  stream: companyStream,
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
      case "ChangeDetails": {
        const data = detailsChange(mustBeActive(state), command);
        return data === undefined ? [] : [{ type: "CompanyDetailsChanged", data }];
      }
      case "ChangeAlias": {
        const data = aliasChange(mustBeActive(state), command);
        return data === undefined ? [] : [{ type: "CompanyAliasChanged", data }];
      }
      case "DeleteAliasHolder":
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
        return withChange(state, { details: event.data.details });
      case "CompanyAliasChanged":
        return withChange(state, { alias: event.data.alias });
      case "CompanyDeleted":
        return { status: "deleted" };
      default:
        return unreachable(event);
    }
  },
};

function mustBeActive(state: State): Active {
  if (state.status === "active") return state;
  throw new Refusal("not_found", "company.not_found", "Company not found.");
}
