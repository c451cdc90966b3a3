import type { Alias, UserId } from "../events/ids.ts";
import type { Sealed } from "../events/sealed.ts";
import { type UserEvent, userEvents, userStream } from "../events/user.ts";
import { unreachable } from "../platform/invariant.ts";
import { Refusal } from "../platform/refusal.ts";
import type { Decider, Slice } from "./decider.ts";
import { decideLink, type UserLinkCommand } from "./user-link.ts";

type By = Readonly<{ by: UserId; at: string }>;

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
  | (By & Readonly<{ type: "ChangeUserAlias"; alias: Alias }>)
  | (By &
      Readonly<{ type: "ChangeUserEmail"; email: Sealed; emailDigest: string; confirmed: boolean }>)
  | (By & Readonly<{ type: "ChangeUserPassword"; passwordHash: Sealed }>)
  | (By &
      Readonly<{
        type: "ChangeUserProfile";
        name: Sealed | null;
        surname: Sealed | null;
        avatar: Sealed | null;
        cover: Sealed | null;
      }>)
  | UserLinkCommand
  | (By & Readonly<{ type: "BanUser"; reason: Sealed | null }>)
  | (By & Readonly<{ type: "UnbanUser" }>)
  | Readonly<{ type: "ForgetUser"; at: string }>;

type Names = Readonly<{ alias: Alias; emailDigest: string }>;

/** A link that was sent to the person and not used yet. */
export type Link = Readonly<{ tokenHash: string; expiresAt: string }>;

export type UserState =
  | Readonly<{ status: "absent" }>
  | (Names &
      Readonly<{
        status: "active" | "banned" | "forgotten";
        userId: UserId;
        email: Sealed;
        confirmed: boolean;
        /** Not so while they only ever came in by way of another service. */
        hasPassword: boolean;
        confirmation?: Link | undefined;
        reset?: Link | undefined;
      }>);

const decider: Decider<UserState, UserCommand, UserEvent> = {
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
      case "ForgetUser":
        if (state.status === "absent") throw notFound();
        if (state.status === "forgotten") return [];
        return [{ type: "UserForgotten", data: { forgottenAt: command.at } }];
      case "BanUser": {
        if (mustExist(state).status === "banned") {
          throw new Refusal("bad_request", "user.already_blocked", "The user is already blocked.");
        }
        const { reason, by: bannedById, at: bannedAt } = command;
        return [{ type: "UserBanned", data: { reason, bannedById, bannedAt } }];
      }
      case "UnbanUser":
        // Nothing to lift: the answer is the same as after lifting it.
        if (mustExist(state).status !== "banned") return [];
        return [
          { type: "UserUnbanned", data: { unbannedById: command.by, unbannedAt: command.at } },
        ];
      case "ChangeUserAlias":
      case "ChangeUserEmail":
      case "ChangeUserPassword":
      case "ChangeUserProfile":
        return change(mustExist(state), command);
      case "RequestEmailConfirmation":
      case "ConfirmEmail":
      case "RequestPasswordReset":
      case "ResetPassword":
        return decideLink(state, command);
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "UserRegistered": {
        const { userId, alias, email, emailDigest, confirmed, passwordHash } = event.data;
        const hasPassword = passwordHash !== null;
        const names = { userId, alias, email, emailDigest };
        return { status: "active", ...names, confirmed, hasPassword };
      }
      case "UserAliasChanged":
        return altered(state, { alias: event.data.alias });
      case "UserEmailChanged": {
        const { email, emailDigest, confirmed } = event.data;
        // A link that went to the former address proves nothing of this one.
        const links = { confirmation: undefined, reset: undefined };
        return altered(state, { email, emailDigest, confirmed, ...links });
      }
      case "UserEmailConfirmationRequested":
        return altered(state, { confirmation: event.data });
      case "UserEmailConfirmed":
        return altered(state, { confirmed: true, confirmation: undefined });
      case "UserPasswordResetRequested":
        return altered(state, { reset: event.data });
      case "UserPasswordChanged":
        return altered(state, { reset: undefined, hasPassword: true });
      case "UserProfileChanged":
        return state;
      case "UserUnbanned":
        return altered(state, { status: "active" });
      case "UserBanned":
        return altered(state, { status: "banned" });
      case "UserForgotten":
        return altered(state, { status: "forgotten" });
      default:
        return unreachable(event);
    }
  },
};

type Change = Extract<UserCommand, { type: `ChangeUser${string}` }>;

function change(state: Names, command: Change): readonly UserEvent[] {
  const changed = { changedById: command.by, changedAt: command.at };
  switch (command.type) {
    case "ChangeUserAlias": {
      const { alias } = command;
      if (alias === state.alias) return [];
      const data = { alias, previousAlias: state.alias, ...changed };
      return [{ type: "UserAliasChanged", data }];
    }
    case "ChangeUserEmail": {
      const { email, emailDigest, confirmed } = command;
      if (emailDigest === state.emailDigest) return [];
      const data = { email, emailDigest, confirmed, ...changed };
      const previousEmailDigest = state.emailDigest;
      return [{ type: "UserEmailChanged", data: { ...data, previousEmailDigest } }];
    }
    case "ChangeUserPassword":
      return [
        { type: "UserPasswordChanged", data: { passwordHash: command.passwordHash, ...changed } },
      ];
    case "ChangeUserProfile": {
      const { name, surname, avatar, cover } = command;
      return [{ type: "UserProfileChanged", data: { name, surname, avatar, cover, ...changed } }];
    }
    default:
      return unreachable(command);
  }
}

type Existing = Exclude<UserState, { status: "absent" }>;

function altered(state: UserState, what: Partial<Existing>): UserState {
  return state.status === "absent" ? state : { ...state, ...what };
}

function mustExist(state: UserState): Existing {
  if (state.status === "absent" || state.status === "forgotten") throw notFound();
  return state;
}

const notFound = (): Refusal => new Refusal("not_found", "user.not_found", "User not found.");

export const user: Slice<UserState, UserCommand, typeof userEvents> = {
  events: userEvents,
  stream: userStream,
  decider,
};
