import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** A mail that carries a link with a secret. */
export const LinkMailKind = z.enum([
  "EMAIL_CONFIRMATION",
  "EMAIL_TAKE_BACK",
  "PASSWORD_RESET",
  "PASSWORD_RESET_PART",
  "INVITATION",
]);
export type LinkMailKind = z.output<typeof LinkMailKind>;

/** A mail about something that the person may read; each can be stopped. */
export const NotificationKind = z.enum([
  "ISSUE_ASSIGNED",
  "ISSUE_MENTIONED",
  "COMMENT_MENTIONED",
  /** As assignee or as reviewer. */
  "MERGE_REQUEST_ASSIGNED",
  "MERGE_REQUEST_MENTIONED",
  /** A merge that they wanted as soon as it is possible is not made. */
  "AUTO_MERGE_DROPPED",
  /** In a note of a discussion of a merge request. */
  "NOTE_MENTIONED",
  /** A project or team is offered to them. */
  "TRANSFER_OFFERED",
]);
export type NotificationKind = z.output<typeof NotificationKind>;

export const MailKind = z.enum([...LinkMailKind.options, ...NotificationKind.options]);
export type MailKind = z.output<typeof MailKind>;

/** Where the event stands whose text the mail quotes. */
export const TextSource = z.object({ stream: z.string(), revision: z.int().nonnegative() });
export type TextSource = Readonly<z.output<typeof TextSource>>;

export const mailEvents = {
  MailScheduled: z.object({
    mailId: z.uuid(),
    kind: MailKind,
    /** Sealed under whom it goes to, so that it is forgotten with them. */
    to: Sealed,
    /** Stream that knows the link: of the account or the invitation. Of a notification: the recipient. */
    holderId: z.uuid(),
    /**
     * The request whose link it carries; of a notification, the issue, merge request, note or transfer it is about. The
     * text is written when the mail is sent: it holds a secret, or what the recipient may read only now.
     */
    requestId: z.uuid(),
    /** Of a mention, the event whose text it is: later edits are by others and may not mention the recipient. */
    said: TextSource.optional(),
    /** Later than this it is of no use. */
    expiresAt: IsoInstant,
    scheduledAt: IsoInstant,
  }),
  MailSent: z.object({ sentAt: IsoInstant }),
  /** It will not be tried again. */
  MailFailed: z.object({ reason: z.string(), failedAt: IsoInstant }),
  /** It is not shown any more. */
  MailRemoved: z.object({ removedAt: IsoInstant }),
} as const satisfies EventSchemas;

export type MailEvent = EventOf<typeof mailEvents>;

export const mailStream = (id: string): string => streamName("mail", id);
