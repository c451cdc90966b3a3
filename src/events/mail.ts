import { z } from "zod";

import type { EventOf, EventSchemas } from "./event.ts";
import { IsoInstant } from "./ids.ts";
import { Sealed } from "./sealed.ts";
import { streamName } from "./stream.ts";

export const MailKind = z.enum(["EMAIL_CONFIRMATION", "PASSWORD_RESET", "INVITATION"]);
export type MailKind = z.output<typeof MailKind>;

export const mailEvents = {
  MailScheduled: z.object({
    mailId: z.uuid(),
    kind: MailKind,
    /** Sealed under whom it goes to, so that it is forgotten with them. */
    to: Sealed,
    /** Stream that knows the link: of the account or the invitation. */
    holderId: z.uuid(),
    /** The request whose link it carries. The text is written when it is sent: it holds a secret. */
    requestId: z.uuid(),
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
