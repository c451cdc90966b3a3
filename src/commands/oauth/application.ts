import type { OAuthApplicationId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import {
  type OAuthApplicationDetails,
  oauthApplicationEvents,
  oauthApplicationStream,
} from "../../events/oauth/application.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type By = Readonly<{ by: UserId; at: string }>;

export type OAuthApplicationCommand =
  | Readonly<{
      type: "CreateOAuthApplication";
      applicationId: OAuthApplicationId;
      ownerId: UserId;
      details: OAuthApplicationDetails;
      clientId: string;
      clientSecret: Sealed;
      at: string;
    }>
  | (By & Readonly<{ type: "ChangeOAuthApplication"; details: OAuthApplicationDetails }>)
  | (By & Readonly<{ type: "RegisterOAuthApplication" | "DeleteOAuthApplication" }>);

type State =
  | Readonly<{ status: "absent" }>
  | Readonly<{
      status: "created" | "registered";
      ownerId: UserId;
      details: OAuthApplicationDetails;
    }>;

export const oauthApplication: Slice<
  State,
  OAuthApplicationCommand,
  typeof oauthApplicationEvents
> = {
  events: oauthApplicationEvents,
  stream: oauthApplicationStream,
  initialState: { status: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "CreateOAuthApplication": {
        if (state.status !== "absent") throw exists();
        const { type: _, at: createdAt, ...data } = command;
        return [{ type: "OAuthApplicationCreated", data: { ...data, createdAt } }];
      }
      case "ChangeOAuthApplication": {
        const { details, by: changedById, at: changedAt } = command;
        if (JSON.stringify(own(state, command).details) === JSON.stringify(details)) return [];
        return [{ type: "OAuthApplicationChanged", data: { details, changedById, changedAt } }];
      }
      case "RegisterOAuthApplication": {
        if (own(state, command).status === "registered") return [];
        const data = { registeredById: command.by, registeredAt: command.at };
        return [{ type: "OAuthApplicationRegistered", data }];
      }
      case "DeleteOAuthApplication": {
        own(state, command);
        const data = { deletedById: command.by, deletedAt: command.at };
        return [{ type: "OAuthApplicationDeleted", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "OAuthApplicationCreated": {
        const { ownerId, details } = event.data;
        return { status: "created", ownerId, details };
      }
      case "OAuthApplicationChanged":
        return state.status === "absent" ? state : { ...state, details: event.data.details };
      case "OAuthApplicationRegistered":
        return state.status === "absent" ? state : { ...state, status: "registered" };
      case "OAuthApplicationDeleted":
        return { status: "absent" };
      default:
        return unreachable(event);
    }
  },
};

/** Another user's application is refused like one that does not exist. */
function own(state: State, { by }: By): Exclude<State, { status: "absent" }> {
  if (state.status !== "absent" && state.ownerId === by) return state;
  throw new Refusal("not_found", "oauth_application.not_found", "OAuth application not found.");
}

function exists(): Refusal {
  const message = "This OAuth application exists already.";
  return new Refusal("conflict", "oauth_application.exists", message);
}
