import type { UserEvent } from "../../events/user/user.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { ExistingUser, FormerEmail, Link } from "./user-state.ts";

/** The link for the address that is about to be replaced. */
export type TakeBackLink = Link & Readonly<{ takeBackId: string }>;

/**
 * With each change within the window another address stays reserved. The limit keeps the oldest: who
 * takes over an account cannot push its first address out by changing again and again.
 */
const formerEmailsMax = 5;

/** Former addresses whose window has not ended, the oldest first. */
export function openFormers(
  { formers }: Readonly<{ formers: readonly FormerEmail[] }>,
  at: string,
): readonly FormerEmail[] {
  return formers.filter(({ expiresAt }) => expiresAt > at);
}

type EmailChanged = Extract<UserEvent, { type: "UserEmailChanged" }>["data"];

/**
 * What an e-mail change records of the address that it replaces. Nothing when another person makes
 * the change, when the address never counted as confirmed, or when the account goes back to a former
 * address.
 *
 * @throws Refusal 422 `email.changed_too_often`
 */
export function formerOf(
  state: ExistingUser,
  change: Readonly<{ by: string; emailDigest: string; takeBack: TakeBackLink; at: string }>,
): EmailChanged["former"] {
  const { by, emailDigest, takeBack, at } = change;
  if (by !== state.userId || !state.confirmed) return undefined;
  const open = openFormers(state, at);
  if (open.some((former) => former.emailDigest === emailDigest)) return undefined;
  if (open.length >= formerEmailsMax) {
    const message = `The e-mail was changed ${formerEmailsMax} times within 7 days. Wait, or ask an administrator.`;
    throw new Refusal("unprocessable", "email.changed_too_often", message, {
      errors: [{ field: "email", code: "email.changed_too_often", message }],
    });
  }
  return { email: state.email, ...takeBack };
}

/**
 * The former addresses after a change. An administrator's change settles which address is the right
 * one. A change to a former address drops it and those after it, as its link does.
 */
export function formersAfter(
  state: ExistingUser,
  { emailDigest, former, changedById, changedAt }: EmailChanged,
): readonly FormerEmail[] {
  if (changedById !== state.userId) return [];
  const before = formersBefore(openFormers(state, changedAt), emailDigest);
  return former === undefined ? before : [...before, { ...former, emailDigest: state.emailDigest }];
}

/** Those that are older than the given address; all of them when it is not among them. */
export function formersBefore(
  formers: readonly FormerEmail[],
  emailDigest: string,
): readonly FormerEmail[] {
  const index = formers.findIndex((former) => former.emailDigest === emailDigest);
  return index === -1 ? formers : formers.slice(0, index);
}
