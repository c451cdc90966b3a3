import { handle } from "../../commands/core/handle.ts";
import { membership } from "../../commands/team/membership.ts";
import type { Recorded } from "../../events/core/event.ts";
import type { InvitationEvent } from "../../events/user/invitation.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { administers } from "../../projections/team/administers.ts";
import { findParent } from "../../projections/team/owner-scope.ts";
import { causedBy } from "../core/caused-by.ts";
import type { WorkerDeps } from "../core/deps.ts";

type Accepted = Extract<InvitationEvent, { type: "InvitationAccepted" }>["data"];
export type JoinDeps = Pick<WorkerDeps, "store" | "db" | "now">;

/**
 * Makes the user who accepted a member with the higher of the role held and the role offered. Does
 * nothing when the inviter is no longer an ADMIN there. The request does it at once, the reactor
 * after a crash.
 *
 * @param cause the event of the acceptance
 */
export async function joinByInvitation(
  { store, db, now }: JoinDeps,
  cause: Pick<Recorded, "id" | "metadata">,
  { parentId, parentType, role, userId, invitedById: by, acceptedAt: at }: Accepted,
): Promise<bigint | undefined> {
  const parent = await findParent(db, parentType, parentId);
  if (parent === undefined || !(await administers(db, by, { parentType, parentId }))) {
    return undefined;
  }
  const ownerId = parent.ownerUserId;
  const command = {
    type: "AdmitMember",
    parentId,
    parentType,
    ownerId,
    userId,
    role,
    by,
    at,
  } as const;
  const metadata = causedBy(cause, deterministicId("join", cause.id), now());
  return (await handle(store, membership, { id: parentId, command, metadata })).position;
}
