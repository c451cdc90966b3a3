import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { ParentType, Role } from "../core/role.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** An invitation by e-mail to become a member; the recipient may have no account yet. */
export const invitationEvents = {
  InvitationMade: z.object({
    invitationId: z.uuid(),
    parentId: z.uuid(),
    parentType: ParentType,
    role: Role,
    /** Sealed under the invitation, whose key is deleted when it ends. */
    email: Sealed,
    emailDigest: z.string(),
    tokenHash: z.string(),
    expiresAt: IsoInstant,
    invitedById: UserId,
    invitedAt: IsoInstant,
  }),
  /** Without `revokedById`, the invitation expired. */
  InvitationRevoked: z.object({
    invitationId: z.uuid(),
    revokedById: UserId.nullable(),
    revokedAt: IsoInstant,
  }),
  InvitationAccepted: z.object({
    invitationId: z.uuid(),
    parentId: z.uuid(),
    parentType: ParentType,
    role: Role,
    invitedById: UserId,
    userId: UserId,
    acceptedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type InvitationEvent = EventOf<typeof invitationEvents>;

/** One stream for an address in a project, team or company: there is one open invitation at most. */
export const invitationStream = (placeId: string): string => streamName("invitation", placeId);

/** Names the vault key of the address of a recipient who may never register. */
export const invitationSubject = (invitationId: string): string => `invitation-${invitationId}`;
