import { linkToken } from "../commands/process/link-token.ts";
import type { MailKind } from "../events/mail.ts";
import type { Message } from "../platform/mailer.ts";
import type { Vault } from "../platform/vault.ts";

/** What a mail is about. */
export type MailAbout = Readonly<{
  kind: MailKind;
  holderId: string;
  requestId: string;
  expiresAt: Date;
}>;

/** Where in the console the links of mails lead. */
export const linkPaths: Readonly<Record<MailKind, `/${string}`>> = {
  EMAIL_CONFIRMATION: "/account/confirm-email",
  PASSWORD_RESET: "/account/reset-password",
};

/** Writes a mail; its link holds a secret, so the text is neither kept nor logged. */
export function writeMail(
  { vault, publicUrl }: Readonly<{ vault: Pick<Vault, "digest">; publicUrl: string }>,
  { kind, holderId, requestId, expiresAt }: MailAbout,
): Pick<Message, "subject" | "text"> {
  const token = linkToken(vault, kind, holderId, requestId);
  const { subject, before, after } = words[kind](new URL(publicUrl).host);
  const link = `${publicUrl}${linkPaths[kind]}?token=${token}`;
  const until = `The link works once, until ${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC.`;
  return { subject, text: [before, link, until, after, ""].join("\n\n") };
}

type Words = Readonly<{ subject: string; before: string; after: string }>;

const words: Readonly<Record<MailKind, (host: string) => Words>> = {
  EMAIL_CONFIRMATION: (host) => ({
    subject: `Confirm your e-mail address for ${host}`,
    before: `Somebody, most likely you, gave this address for an account at ${host}. Confirm it here:`,
    after: "If it was not you, there is nothing to do: without this the address is not used.",
  }),
  PASSWORD_RESET: (host) => ({
    subject: `Set a new password for ${host}`,
    before: `Somebody, most likely you, asked for a new password for your account at ${host}. Set it here:`,
    after: "If it was not you, there is nothing to do: your password stays as it is.",
  }),
};
