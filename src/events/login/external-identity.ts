import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, LoginConnectionId, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** How an identity came to its account. */
export const LinkedBy = z.enum([
  /** The account was made for it. */
  "registration",
  /** It and an account had the same proved e-mail. */
  "email",
  /** A logged-in user proved it as well. */
  "person",
]);
export type LinkedBy = z.output<typeof LinkedBy>;

/** A person as identified by a directory or identity provider: one person there is one account here. */
export const externalIdentityEvents = {
  ExternalIdentityLinked: z.object({
    connectionId: LoginConnectionId,
    /** Keyed digest of what the other side calls the person. */
    subjectDigest: z.string(),
    /** What the other side calls the person, under the account's own key. */
    subject: Sealed,
    userId: UserId,
    linkedBy: LinkedBy,
    linkedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

/** One stream an identity: who appends first has it. */
export const externalIdentityStream = (id: string): string => streamName("externalIdentity", id);

export const externalIdentityId = (connectionId: string, subjectDigest: string): string =>
  `${connectionId}~${subjectDigest}`;
