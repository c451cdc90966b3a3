import type { Knex } from "knex";

import { linkToken } from "../commands/process/link-token.ts";
import type { MailKind } from "../events/mail.ts";
import { type Message, oneLine } from "../platform/mailer.ts";
import type { Vault } from "../platform/vault.ts";
import { findInvitationById } from "../projections/invitation.ts";
import { findParent } from "../projections/parent.ts";
import { findUserById } from "../projections/user.ts";

/** What a mail is about. */
export type MailAbout = Readonly<{
  kind: MailKind;
  holderId: string;
  requestId: string;
  expiresAt: Date;
}>;

export type MailTextDeps = Readonly<{
  vault: Pick<Vault, "digest">;
  db: Knex;
  publicUrl: string;
}>;

/** Where in the console the links of mails lead. */
export const linkPaths: Readonly<Record<MailKind, `/${string}`>> = {
  EMAIL_CONFIRMATION: "/account/confirm-email",
  PASSWORD_RESET: "/account/reset-password",
  INVITATION: "/account/invitation",
};

/** A title is somebody's own words: it may not fill a mail with others. */
const titleMax = 100;

/**
 * Writes a mail; its link holds a secret, so the text is neither kept nor logged. Undefined when what
 * it is about is over.
 */
export async function writeMail(
  deps: MailTextDeps,
  about: MailAbout,
): Promise<Pick<Message, "subject" | "text"> | undefined> {
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

async function wordsOf(deps: MailTextDeps, about: MailAbout): Promise<Words | undefined> {
  const { host } = new URL(deps.publicUrl);
  switch (about.kind) {
    case "EMAIL_CONFIRMATION":
      return {
        subject: `Confirm your e-mail address for ${host}`,
        before: `Somebody, most likely you, gave this address for an account at ${host}. Confirm it here:`,
        after: "If it was not you, there is nothing to do: without this the address is not used.",
      };
    case "PASSWORD_RESET":
      return {
        subject: `Set a new password for ${host}`,
        before: `Somebody, most likely you, asked for a new password for your account at ${host}. Set it here:`,
        after: "If it was not you, there is nothing to do: your password stays as it is.",
      };
    case "INVITATION":
      return await invitationWords(deps, about);
  }
}

async function invitationWords(
  { db, publicUrl }: MailTextDeps,
  { requestId }: MailAbout,
): Promise<Words | undefined> {
  const row = await findInvitationById(db, requestId);
  const parent = row && (await findParent(db, row.parent_type, row.parent_id));
  if (row === undefined || parent === undefined) return undefined;
  const inviter = (await findUserById(db, row.invited_by_id))?.alias ?? "Somebody";
  const title = oneLine(parent.title).slice(0, titleMax);
  const what = parent.type.toLowerCase();
  return {
    subject: `${inviter} invites you to the ${what} ${title}`,
    before: `${inviter} invites you to the ${what} "${title}" (${publicUrl}${parent.path}) as ${row.role}. Join it here:`,
    after: "If you do not want to, there is nothing to do.",
  };
}
