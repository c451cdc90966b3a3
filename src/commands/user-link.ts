import type { Sealed } from "../events/sealed.ts";
import type { UserEvent } from "../events/user.ts";
import { unreachable } from "../platform/invariant.ts";
import { Refusal } from "../platform/refusal.ts";
import type { Link, UserState } from "./user.ts";

/** What is done by links that are sent to the address of an account. */
export type UserLinkCommand =
  | Readonly<{
      type: "RequestEmailConfirmation";
      confirmationId: string;
      tokenHash: string;
      expiresAt: string;
      at: string;
    }>
  | Readonly<{ type: "ConfirmEmail"; tokenHash: string; at: string }>
  | Readonly<{
      type: "RequestPasswordReset";
      resetId: string;
      tokenHash: string;
      expiresAt: string;
      at: string;
    }>
  | Readonly<{ type: "ResetPassword"; tokenHash: string; passwordHash: Sealed; at: string }>;

/**
 * The newest link of a kind is the one that counts, once and until it expires. Asking for one that
 * would be of no use changes nothing: whoever asks must not learn why.
 *
 * @throws Refusal `link.invalid` for any other link
 */
export function decideLink(state: UserState, command: UserLinkCommand): readonly UserEvent[] {
  const active = state.status === "active" ? state : undefined;
  switch (command.type) {
    case "RequestEmailConfirmation": {
      if (active === undefined || active.confirmed) return [];
      const { type: _, at: requestedAt, ...link } = command;
      const { emailDigest } = active;
      return [
        { type: "UserEmailConfirmationRequested", data: { ...link, emailDigest, requestedAt } },
      ];
    }
    case "ConfirmEmail": {
      if (active === undefined) throw invalidLink();
      mustMatch(active.confirmation, command);
      const { emailDigest } = active;
      return [{ type: "UserEmailConfirmed", data: { emailDigest, confirmedAt: command.at } }];
    }
    case "RequestPasswordReset": {
      // An address that nobody has proved gives no way into the account, and who comes in by another
      // service has no password to forget: a new one would be a second door.
      if (active === undefined || !active.confirmed || !active.hasPassword) return [];
      const { type: _, at: requestedAt, ...link } = command;
      return [{ type: "UserPasswordResetRequested", data: { ...link, requestedAt } }];
    }
    case "ResetPassword": {
      if (active === undefined) throw invalidLink();
      mustMatch(active.reset, command);
      const { passwordHash, at: changedAt } = command;
      const data = { passwordHash, changedById: active.userId, changedAt };
      return [{ type: "UserPasswordChanged", data }];
    }
    default:
      return unreachable(command);
  }
}

type Presented = Readonly<{ tokenHash: string; at: string }>;

/** @throws Refusal `link.invalid` */
export function mustMatch(link: Link | undefined, { tokenHash, at }: Presented): void {
  if (link?.tokenHash !== tokenHash || link.expiresAt <= at) throw invalidLink();
}

export function invalidLink(): Refusal {
  const message = "This link was used before, has expired or is not complete.";
  return new Refusal("unprocessable", "link.invalid", message, {
    errors: [{ field: "token", code: "link.invalid", message }],
  });
}
