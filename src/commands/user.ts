import type { Alias, UserId } from "../events/ids.ts";
import type { Sealed } from "../events/sealed.ts";
import { type UserEvent, userEvents, userStream } from "../events/user.ts";
import { unreachable } from "../platform/invariant.ts";
import { Refusal } from "../platform/refusal.ts";
import type { Decider, Slice } from "./decider.ts";

export type UserCommand =
  | Readonly<{
      type: "RegisterUser";
      userId: UserId;
      alias: Alias;
      email: Sealed;
      emailDigest: string;
      passwordHash: Sealed | null;
      admin: boolean;
      confirmed: boolean;
      at: string;
    }>
  | Readonly<{ type: "BanUser"; reason: Sealed | null; by: UserId; at: string }>
  | Readonly<{ type: "UnbanUser"; by: UserId; at: string }>
  | Readonly<{ type: "ForgetUser"; at: string }>;

type State = Readonly<{ status: "absent" | "active" | "banned" | "forgotten" }>;

const decider: Decider<State, UserCommand, UserEvent> = {
  initialState: { status: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "RegisterUser": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "user.exists", "This user is already registered.");
        }
        const { type: _, at: registeredAt, ...rest } = command;
        return [{ type: "UserRegistered", data: { ...rest, registeredAt } }];
      }
      case "BanUser": {
        mustExist(state);
        if (state.status === "banned") {
          throw new Refusal("bad_request", "user.already_blocked", "The user is already blocked.");
        }
        const { reason, by: bannedById, at: bannedAt } = command;
        return [{ type: "UserBanned", data: { reason, bannedById, bannedAt } }];
      }
      case "UnbanUser":
        mustExist(state);
        // Nothing to lift: the answer is the same as after lifting it.
        if (state.status !== "banned") return [];
        return [
          { type: "UserUnbanned", data: { unbannedById: command.by, unbannedAt: command.at } },
        ];
      case "ForgetUser":
        if (state.status === "absent") throw notFound();
        if (state.status === "forgotten") return [];
        return [{ type: "UserForgotten", data: { forgottenAt: command.at } }];
      default:
        return unreachable(command);
    }
  },

  evolve(_state, event) {
    switch (event.type) {
      case "UserRegistered":
      case "UserUnbanned":
        return { status: "active" };
      case "UserBanned":
        return { status: "banned" };
      case "UserForgotten":
        return { status: "forgotten" };
      default:
        return unreachable(event);
    }
  },
};

function mustExist(state: State): void {
  if (state.status === "absent" || state.status === "forgotten") throw notFound();
}

const notFound = (): Refusal => new Refusal("not_found", "user.not_found", "User not found.");

export const user: Slice<State, UserCommand, typeof userEvents> = {
  events: userEvents,
  stream: userStream,
  decider,
};
