import { handle } from "../../commands/core/handle.ts";
import { invitation } from "../../commands/user/invitation.ts";
import type { Recorded } from "../../events/core/event.ts";
import { idInStream } from "../../events/core/stream.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import { invitationStands } from "../../projections/team/administers.ts";
import { type InvitationRow, invitationsConcerned } from "../../projections/user/invitation.ts";
import { causedBy } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";

const readAtOnce = 200;
const firstId = "00000000-0000-0000-0000-000000000000";

const ofInviter = new Set(["UserBanned", "UserForgotten"]);
const ofMember = new Set(["MemberRemoved", "MemberRoleChanged"]);
const ofParent = new Set([
  "ProjectTransferred",
  "TeamTransferred",
  "ProjectDeleted",
  "TeamDeleted",
  "CompanyDeleted",
]);

/**
 * Ends the open invitations of inviters who have lost the right to invite, so that a later unban,
 * return or restoration does not bring them back. Acceptance checks the right as well: this runs
 * a moment after the loss.
 */
export const invitationLapse: Reactor = {
  name: "invitation-lapse",
  types: new Set([...ofInviter, ...ofMember, ...ofParent]),
  async react(event, deps) {
    await deps.visible(event.position);
    for await (const row of concernedBy(event, deps)) {
      if (!(await invitationStands(deps.db, row))) await lapse(row, event, deps);
    }
    return [];
  },
};

async function* concernedBy(event: Recorded, { db }: WorkerDeps): AsyncGenerator<InvitationRow> {
  const id = idInStream(event.stream);
  const inviterId = ofMember.has(event.type) ? String(event.data["userId"]) : id;
  const filter = ofParent.has(event.type) ? { parentId: id } : { inviterId };
  let after = firstId;
  for (;;) {
    const rows = await invitationsConcerned(db, filter, { after, limit: readAtOnce });
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < readAtOnce) return;
    after = last.id;
  }
}

async function lapse(
  { id: invitationId, place_id: id }: InvitationRow,
  event: Recorded,
  { store, now }: WorkerDeps,
): Promise<void> {
  const at = now().toISOString();
  const command = { type: "RevokeInvitation", invitationId, by: null, at } as const;
  const metadata = causedBy(event, deterministicId("lapse", event.id, invitationId), now());
  try {
    await handle(store, invitation, { id, command, metadata });
  } catch (error) {
    // It has ended in another way meanwhile.
    if (!(error instanceof Refusal) || error.code !== "invitation.not_found") throw error;
  }
}
