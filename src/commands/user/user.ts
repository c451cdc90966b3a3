import type { Alias, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { type UserEvent, userEvents, userStream } from "../../events/user/user.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";
import { formerOf, formersAfter, formersBefore, type TakeBackLink } from "./former-email.ts";
import { decideLink, type UserLinkCommand } from "./link.ts";
import type { ExistingUser, UserState } from "./user-state.ts";

type By = Readonly<{ by: UserId; at: string }>;

/** A field that is undefined keeps its value. */
export type ProfileChange = Readonly<{
  name?: Sealed | null | undefined;
  surname?: Sealed | null | undefined;
  avatar?: Sealed | null | undefined;
  cover?: Sealed | null | undefined;
}>;

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
      emailProved?: boolean;
      at: string;
    }>
  | (By & Readonly<{ type: "ChangeUserAlias"; alias: Alias }>)
  | (By &
      Readonly<{
        type: "ChangeUserEmail";
        email: Sealed;
        emailDigest: string;
        confirmed: boolean;
        /** For the replaced address, if it is to have one. */
        takeBack: TakeBackLink;
      }>)
  | (By & Readonly<{ type: "ChangeUserPassword"; passwordHash: Sealed }>)
  | (By & ProfileChange & Readonly<{ type: "ChangeUserProfile" }>)
  | UserLinkCommand
  | (By & Readonly<{ type: "BanUser"; reason: Sealed | null }>)
  | (By & Readonly<{ type: "UnbanUser" }>)
  | (By & Readonly<{ type: "SetUserQuota"; allowedBytes: number | null }>)
  | Readonly<{ type: "ForgetUser"; at: string }>;

export const user: Slice<UserState, UserCommand, typeof userEvents> = {
  events: userEvents,
  stream: userStream,
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
      case "SetUserQuota": {
        const { allowedBytes: previous } = mustExist(state);
        const { allowedBytes, by: changedById, at: changedAt } = command;
        if (allowedBytes === previous) return [];
        const data = { allowedBytes, previous, changedById, changedAt };
        return [{ type: "UserQuotaChanged", data }];
      }
      case "ChangeUserAlias":
      case "ChangeUserEmail":
      case "ChangeUserPassword":
      case "ChangeUserProfile":
        return change(mustExist(state), command);
      case "RequestEmailConfirmation":
      case "ConfirmEmail":
      case "RequestPasswordReset":
      case "ResetPassword":
      case "TakeBackEmail":
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
        const emailProved = event.data.emailProved === true;
        const none = { formers: [], allowedBytes: null };
        return { status: "active", ...names, confirmed, emailProved, hasPassword, ...none };
      }
      case "UserAliasChanged":
        return altered(state, { alias: event.data.alias });
      case "UserEmailChanged": {
        if (state.status === "absent") return state;
        const { email, emailDigest, confirmed } = event.data;
        const formers = formersAfter(state, event.data);
        return { ...state, email, emailDigest, confirmed, emailProved: false, formers, ...noLinks };
      }
      case "UserEmailTakenBack": {
        if (state.status === "absent") return state;
        const { email, emailDigest } = event.data;
        const formers = formersBefore(state.formers, emailDigest);
        const proved = { confirmed: true, emailProved: true };
        return { ...state, email, emailDigest, formers, ...proved, ...noLinks };
      }
      case "UserEmailConfirmationRequested":
        return altered(state, { confirmation: event.data });
      case "UserEmailConfirmed":
        return altered(state, { confirmed: true, emailProved: true, confirmation: undefined });
      case "UserPasswordResetRequested":
        return altered(state, { reset: resetOf(event.data) });
      case "UserPasswordChanged":
        return altered(state, { reset: undefined, hasPassword: true });
      case "UserProfileChanged":
        return state;
      case "UserQuotaChanged":
        return altered(state, { allowedBytes: event.data.allowedBytes });
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

/** A link that went to the former address proves nothing of the new one. */
const noLinks = { confirmation: undefined, reset: undefined } as const;

function resetOf(data: Extract<UserEvent, { type: "UserPasswordResetRequested" }>["data"]) {
  const { tokenHash, expiresAt, parts = [] } = data;
  return { tokenHash, expiresAt, parts: parts.map((part) => part.tokenHash) };
}

type Change = Extract<UserCommand, { type: `ChangeUser${string}` }>;

function change(state: ExistingUser, command: Change): readonly UserEvent[] {
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
      const former = formerOf(state, command);
      const data = {
        email,
        emailDigest,
        previousEmailDigest: state.emailDigest,
        confirmed,
        ...(former === undefined ? {} : { former }),
        ...changed,
      };
      return [{ type: "UserEmailChanged", data }];
    }
    case "ChangeUserPassword":
      return [
        { type: "UserPasswordChanged", data: { passwordHash: command.passwordHash, ...changed } },
      ];
    case "ChangeUserProfile": {
      const { name, surname, avatar, cover } = command;
      const defined = Object.entries({ name, surname, avatar, cover }).filter(
        ([, value]) => value !== undefined,
      );
      if (defined.length === 0) return [];
      const data = { ...Object.fromEntries(defined), ...changed };
      return [{ type: "UserProfileChanged", data }];
    }
    default:
      return unreachable(command);
  }
}

function altered(state: UserState, what: Partial<ExistingUser>): UserState {
  return state.status === "absent" ? state : { ...state, ...what };
}

function mustExist(state: UserState): ExistingUser {
  if (state.status === "absent" || state.status === "forgotten") throw notFound();
  return state;
}

const notFound = (): Refusal => new Refusal("not_found", "user.not_found", "User not found.");
