import type { UserId } from "../../events/core/ids.ts";
import {
  type InvitationEvent,
  invitationEvents,
  invitationStream,
} from "../../events/user/invitation.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";
import { invalidLink } from "./link.ts";

type Invited = Extract<InvitationEvent, { type: "InvitationMade" }>["data"];

export type InvitationCommand =
  | Readonly<{ type: "Invite"; invitation: Omit<Invited, "invitedAt">; at: string }>
  | Readonly<{ type: "RevokeInvitation"; invitationId: string; by: UserId | null; at: string }>
  /** Who holds the link has read a mail to the address. */
  | Readonly<{ type: "AcceptByLink"; tokenHash: string; userId: UserId; at: string }>
  /** The address was proved to be the user's in another way. */
  | Readonly<{ type: "AcceptByAddress"; invitationId: string; userId: UserId; at: string }>;

export type InvitationState = Readonly<{ open: Invited | undefined }>;

export const invitation: Slice<InvitationState, InvitationCommand, typeof invitationEvents> = {
  events: invitationEvents,
  stream: invitationStream,
  initialState: { open: undefined },

  decide({ open }, command) {
    const { at } = command;
    switch (command.type) {
      case "Invite": {
        const { invitation } = command;
        // The mail is on its way already: asking again sends no other.
        if (open !== undefined && open.expiresAt > at && open.role === invitation.role) return [];
        const invited = { type: "InvitationMade", data: { ...invitation, invitedAt: at } } as const;
        return open === undefined
          ? [invited]
          : [revoked(open, invitation.invitedById, at), invited];
      }
      case "RevokeInvitation":
        if (open?.invitationId !== command.invitationId) throw notFound();
        return [revoked(open, command.by, at)];
      case "AcceptByLink":
        if (open?.tokenHash !== command.tokenHash || open.expiresAt <= at) throw invalidLink();
        return [accepted(open, command)];
      case "AcceptByAddress":
        if (open?.invitationId !== command.invitationId || open.expiresAt <= at) return [];
        return [accepted(open, command)];
      default:
        return unreachable(command);
    }
  },

  evolve(_state, event) {
    return { open: event.type === "InvitationMade" ? event.data : undefined };
  },
};

function revoked({ invitationId }: Invited, by: UserId | null, at: string): InvitationEvent {
  return { type: "InvitationRevoked", data: { invitationId, revokedById: by, revokedAt: at } };
}

function accepted(
  { invitationId, parentId, parentType, role, invitedById }: Invited,
  { userId, at }: Readonly<{ userId: UserId; at: string }>,
): InvitationEvent {
  const fields = { invitationId, parentId, parentType, role, invitedById };
  return { type: "InvitationAccepted", data: { ...fields, userId, acceptedAt: at } };
}

const notFound = (): Refusal =>
  new Refusal("not_found", "invitation.not_found", "There is no such open invitation.");
