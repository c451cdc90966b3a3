import type { Knex } from "knex";

import { linkToken } from "../../commands/user/link-token.ts";
import {
  LinkMailKind,
  type MailKind,
  NotificationKind,
  type TextSource,
} from "../../events/user/mail.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { Vault } from "../../platform/key/vault.ts";
import { oneLine } from "../../platform/mailer.ts";
import { clipText } from "../../platform/storable-text.ts";
import { findParent } from "../../projections/team/owner-scope.ts";
import { findInvitationById } from "../../projections/user/invitation.ts";
import { findUserById } from "../../projections/user/user.ts";
import { type WrittenMail, writeNotification } from "./notification-text.ts";

/** What a mail is about. */
export type MailAbout = Readonly<{
  kind: MailKind;
  holderId: string;
  requestId: string;
  expiresAt: Date;
  said?: TextSource | undefined;
}>;

export type MailTextDeps = Readonly<{
  store: Pick<EventStore, "readStream">;
  vault: Pick<Vault, "digest">;
  db: Knex;
  publicUrl: string;
  now: () => Date;
}>;

/** Where in the console the links of mails lead. */
export const linkPaths: Readonly<Record<LinkMailKind, `/${string}`>> = {
  EMAIL_CONFIRMATION: "/account/confirm-email",
  EMAIL_TAKE_BACK: "/account/take-back-email",
  PASSWORD_RESET: "/account/reset-password",
  PASSWORD_RESET_PART: "/account/reset-password-with-several",
  INVITATION: "/account/invitation",
};

/** Users choose titles freely: a title may not fill a mail with other text. */
const titleMax = 100;

/**
 * Writes a mail, which may have changed or ended since it was scheduled. Undefined when what it is about
 * is over.
 */
export function writeMail(
  deps: MailTextDeps,
  { kind, ...about }: MailAbout,
): Promise<WrittenMail | undefined> {
  const link = LinkMailKind.safeParse(kind);
  if (link.success) return writeLinkMail(deps, { kind: link.data, ...about });
  return writeNotification(deps, { kind: NotificationKind.parse(kind), ...about });
}

type LinkMailAbout = Omit<MailAbout, "kind"> & Readonly<{ kind: LinkMailKind }>;

/**
 * Writes a mail with a link; the link holds a secret, so the text is neither kept nor logged. Undefined when what
 * it is about is over.
 */
async function writeLinkMail(
  deps: MailTextDeps,
  about: LinkMailAbout,
): Promise<WrittenMail | undefined> {
  const { vault, publicUrl } = deps;
  const { kind, holderId, requestId, expiresAt } = about;
  const words = await wordsOf(deps, about);
  if (words === undefined) return undefined;
  const link = `${publicUrl}${linkPaths[kind]}?token=${linkToken(vault, kind, holderId, requestId)}`;
  const time = expiresAt.toISOString().slice(0, 16).replace("T", " ");
  const until = `The link works once, until ${time} UTC.`;
  return {
    subject: words.subject,
    text: [words.before, link, until, words.after, ""].join("\n\n"),
  };
}

type Words = Readonly<{ subject: string; before: string; after: string }>;

async function wordsOf(deps: MailTextDeps, about: LinkMailAbout): Promise<Words | undefined> {
  const { host } = new URL(deps.publicUrl);
  switch (about.kind) {
    case "EMAIL_CONFIRMATION":
      return {
        subject: `Confirm your e-mail address for ${host}`,
        before: `This address was given for an account at ${host}. Confirm it here:`,
        after: "If it was not you, there is nothing to do: without this the address is not used.",
      };
    case "EMAIL_TAKE_BACK":
      return {
        subject: `The e-mail address of your account at ${host} was changed`,
        before: `Your account at ${host} has another e-mail address now. If you did not change it, take this address back here:`,
        after:
          "If you changed it, there is nothing to do. If you take it back, set a new password as well and revoke tokens and keys that are not yours.",
      };
    case "PASSWORD_RESET_PART":
      return {
        subject: `Set a new password for ${host}: one of several links`,
        before: `A new password was requested for your account at ${host}. Its e-mail address was changed in the last 7 days, so the new and the former addresses get a link each and all of them are needed together. One of them:`,
        after: "If it was not you, there is nothing to do: your password stays as it is.",
      };
    case "PASSWORD_RESET":
      return {
        subject: `Set a new password for ${host}`,
        before: `A new password was requested for your account at ${host}. Set it here:`,
        after: "If it was not you, there is nothing to do: your password stays as it is.",
      };
    case "INVITATION":
      return await invitationWords(deps, about);
  }
}

async function invitationWords(
  { db, publicUrl }: MailTextDeps,
  { requestId }: LinkMailAbout,
): Promise<Words | undefined> {
  const row = await findInvitationById(db, requestId);
  const parent = row && (await findParent(db, row.parent_type, row.parent_id));
  if (row === undefined || parent === undefined) return undefined;
  const inviter = (await findUserById(db, row.invited_by_id))?.alias ?? "A former user";
  const title = clipText(oneLine(parent.title), titleMax);
  const what = parent.type.toLowerCase();
  return {
    subject: `${inviter} invites you to the ${what} ${title}`,
    before: `${inviter} invites you to the ${what} "${title}" (${publicUrl}${parent.path}) as ${row.role}. Join it here:`,
    after: "If you do not want to, there is nothing to do.",
  };
}
