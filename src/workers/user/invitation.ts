import { handle } from "../../commands/core/handle.ts";
import { invitation } from "../../commands/user/invitation.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { invitationEvents, invitationSubject } from "../../events/user/invitation.ts";
import { userEvents } from "../../events/user/user.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { invitationStands } from "../../projections/team/administers.ts";
import { invitationsExpired, invitationsTo } from "../../projections/user/invitation.ts";
import { causedBy, load } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { joinByInvitation } from "../../services/user/join-by-invitation.ts";
import type { Reactor } from "../core/reactor.ts";

const expiredAtOnce = 200;

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
    // The address of a person who may not have an account is kept no longer than it is needed.
    await deps.vault.forget(invitationSubject(data.invitationId));
    return [];
  },
};

/** Accepts the invitations that were sent to the confirmed address before the account existed. */
async function acceptByAddress(event: Recorded, deps: WorkerDeps): Promise<void> {
  const { store, db, now, visible } = deps;
  const { emailDigest } = userEvents.UserEmailConfirmed.parse(event.data);
  const userId = UserId.parse(idInStream(event.stream));
  await visible(event.position);
  for (const row of await invitationsTo(db, emailDigest)) {
    if (!(await invitationStands(db, row))) continue;
    const { id: invitationId, place_id: id } = row;
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
