import { handle } from "../commands/handle.ts";
import { invitation } from "../commands/invitation.ts";
import { membership } from "../commands/membership.ts";
import { decode } from "../events/decode.ts";
import type { Recorded } from "../events/event.ts";
import { UserId } from "../events/ids.ts";
import { type InvitationEvent, invitationEvents, invitationSubject } from "../events/invitation.ts";
import { idInStream } from "../events/stream.ts";
import { userEvents } from "../events/user.ts";
import { deterministicId } from "../platform/deterministic-id.ts";
import { Refusal } from "../platform/refusal.ts";
import { invitationsExpired, invitationsTo } from "../projections/invitation.ts";
import { findParent } from "../projections/parent.ts";
import type { WorkerDeps } from "./deps.ts";
import { causedBy, load } from "./order.ts";
import type { Reactor } from "./reactor.ts";

const expiredAtOnce = 200;

type Accepted = Extract<InvitationEvent, { type: "InvitationAccepted" }>["data"];
export type JoinDeps = Pick<WorkerDeps, "store" | "db" | "now">;

/**
 * Makes who accepted a member, once; somebody who is one already keeps their role, and what was
 * deleted meanwhile takes nobody. Whoever answers the request does it at once, the reactor after a
 * crash.
 *
 * @param cause the event of the acceptance
 */
export async function joinByInvitation(
  { store, db, now }: JoinDeps,
  cause: Pick<Recorded, "id" | "metadata">,
  { parentId, parentType, role, userId, invitedById: by, acceptedAt: at }: Accepted,
): Promise<bigint | undefined> {
  const parent = await findParent(db, parentType, parentId);
  if (parent === undefined) return undefined;
  const ownerId = parent.ownerUserId;
  const command = {
    type: "AddMember",
    parentId,
    parentType,
    ownerId,
    userId,
    role,
    by,
    at,
  } as const;
  const metadata = causedBy(cause, deterministicId("join", cause.id), now());
  try {
    return (await handle(store, membership, { id: parentId, command, metadata })).position;
  } catch (error) {
    if (error instanceof Refusal && error.code === "member.exists") return undefined;
    throw error;
  }
}

/** Carries out what follows from invitations, and from an address that was proved. */
export const invitationFollowUp: Reactor = {
  name: "invitation-follow-up",
  types: new Set(["InvitationAccepted", "InvitationRevoked", "UserEmailConfirmed"]),
  async react(event, deps) {
    if (event.type === "UserEmailConfirmed") {
      await acceptByAddress(event, deps);
      return [];
    }
    const { type, data } = decode(invitationEvents, event);
    if (type === "InvitationAccepted") await joinByInvitation(deps, event, data);
    // The address of somebody who may not have an account is kept no longer than it is needed.
    await deps.vault.forget(invitationSubject(data.invitationId));
    return [];
  },
};

/** Invitations from before somebody had an account, to the address they have proved. */
async function acceptByAddress(event: Recorded, deps: WorkerDeps): Promise<void> {
  const { store, db, now, visible } = deps;
  const { emailDigest } = userEvents.UserEmailConfirmed.parse(event.data);
  const userId = UserId.parse(idInStream(event.stream));
  await visible(event.position);
  for (const { id: invitationId, place_id: id } of await invitationsTo(db, emailDigest)) {
    const at = now().toISOString();
    const command = { type: "AcceptByAddress", invitationId, userId, at } as const;
    const metadata = causedBy(event, deterministicId("accept", event.id, invitationId), now());
    await handle(store, invitation, { id, command, metadata });
  }
}

/** Ends invitations that nobody accepted in time. */
export async function sweepInvitations({ store, db, now }: WorkerDeps): Promise<void> {
  for (const row of await invitationsExpired(db, now(), expiredAtOnce)) {
    const { id: invitationId, place_id: id } = row;
    const { last, state } = await load(store, invitation, id);
    if (last === undefined || state.open?.invitationId !== invitationId) continue;
    const at = now().toISOString();
    const command = { type: "RevokeInvitation", invitationId, by: null, at } as const;
    const metadata = causedBy(last, deterministicId("expire", invitationId), now());
    await handle(store, invitation, { id, command, metadata });
  }
}
