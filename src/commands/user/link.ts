import type { Sealed } from "../../events/core/sealed.ts";
import type { UserEvent } from "../../events/user/user.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import { openFormers } from "./former-email.ts";
import type { ExistingUser, FormerEmail, Link, UserState } from "./user-state.ts";

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
      /** One for each former address that can still be taken back. */
      parts: readonly ResetPart[];
      expiresAt: string;
      at: string;
    }>
  | Readonly<{
      type: "ResetPassword";
      tokenHashes: readonly string[];
      passwordHash: Sealed;
      at: string;
    }>
  | Readonly<{ type: "TakeBackEmail"; tokenHash: string; at: string }>;

export type ResetPart = Readonly<{ emailDigest: string; resetId: string; tokenHash: string }>;

/**
 * Only the newest link of a kind is valid, once and until it expires. A request for a link that would be
 * of no use changes nothing and raises no error: the requester must not learn why.
 *
 * @throws Refusal `link.invalid` for any other link
 */
export function decideLink(state: UserState, command: UserLinkCommand): readonly UserEvent[] {
  const active = state.status === "active" ? state : undefined;
  switch (command.type) {
    case "RequestEmailConfirmation": {
      if (active === undefined || (active.confirmed && active.emailProved)) return [];
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
      // service has no password to forget: a new one would be a second way to log in.
      if (active === undefined || !active.confirmed || !active.hasPassword) return [];
      const { type: _, at: requestedAt, parts: offered, ...link } = command;
      const formers = openFormers(active, requestedAt);
      // The addresses changed since the links were computed: the person requests again.
      if (offered.length !== formers.length) return [];
      const parts = [];
      for (const { email, emailDigest } of formers) {
        const part = offered.find((each) => each.emailDigest === emailDigest);
        if (part === undefined) return [];
        parts.push({ resetId: part.resetId, email, tokenHash: part.tokenHash });
      }
      const data = { ...link, ...(parts.length > 0 ? { parts } : {}), requestedAt };
      return [{ type: "UserPasswordResetRequested", data }];
    }
    case "ResetPassword": {
      if (active === undefined) throw invalidLink();
      mustMatchReset(active.reset, command);
      const { passwordHash, at: changedAt } = command;
      const data = { passwordHash, changedById: active.userId, changedAt };
      return [{ type: "UserPasswordChanged", data }];
    }
    case "TakeBackEmail": {
      const { email, emailDigest } = mustBeFormer(active, command);
      const data = { email, emailDigest, takenBackAt: command.at };
      return [{ type: "UserEmailTakenBack", data }];
    }
    default:
      return unreachable(command);
  }
}

/**
 * The former address whose link was presented.
 *
 * @throws Refusal `link.invalid`
 */
export function mustBeFormer(state: UserState | undefined, presented: Presented): FormerEmail {
  if (state?.status !== "active") throw invalidLink();
  const { tokenHash, at } = presented;
  const former = openFormers(state, at).find((each) => each.tokenHash === tokenHash);
  if (former === undefined) throw invalidLink();
  return former;
}

type Reset = ExistingUser["reset"];

/**
 * All links of a reset have to be presented, in any order.
 *
 * @throws Refusal `link.invalid`, or `link.more_needed` when only some of them are there
 */
export function mustMatchReset(
  reset: Reset,
  { tokenHashes, at }: Readonly<{ tokenHashes: readonly string[]; at: string }>,
): void {
  if (reset === undefined || reset.expiresAt <= at) throw invalidLink();
  const needed = [reset.tokenHash, ...reset.parts];
  const missing = needed.filter((each) => !tokenHashes.includes(each));
  if (missing.length === 0) return;
  if (missing.length === needed.length) throw invalidLink();
  const message = `The e-mail of this account was changed lately: the links of all ${needed.length} mails are needed together.`;
  throw new Refusal("unprocessable", "link.more_needed", message, {
    errors: [{ field: "otherTokens", code: "link.more_needed", message }],
  });
}

type Presented = Readonly<{ tokenHash: string; at: string }>;

/** @throws Refusal `link.invalid` */
export function mustMatch(
  link: Link | undefined,
  { tokenHash, at }: Presented,
  field?: string,
): void {
  if (link?.tokenHash !== tokenHash || link.expiresAt <= at) throw invalidLink(field);
}

/** @param field in which the link's token was sent */
export function invalidLink(field = "token"): Refusal {
  const message = "This link was used before, has expired or is not complete.";
  return new Refusal("unprocessable", "link.invalid", message, {
    errors: [{ field, code: "link.invalid", message }],
  });
}
