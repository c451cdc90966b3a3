import { handle } from "../../commands/core/handle.ts";
import { transferProject } from "../../commands/project/change-project.ts";
import { project } from "../../commands/project/project.ts";
import { transferTeam } from "../../commands/team/change-team.ts";
import { team } from "../../commands/team/team.ts";
import { transferOffer } from "../../commands/team/transfer-offer.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { type TransferOfferEvent, transferOfferEvents } from "../../events/team/transfer-offer.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import { transfersExpired } from "../../projections/team/transfer-offer.ts";
import { causedBy, load } from "../core/caused-by.ts";
import type { WorkerDeps } from "../core/deps.ts";
import type { Reactor } from "../core/reactor.ts";

const expiredAtOnce = 200;

type Accepted = Extract<TransferOfferEvent, { type: "TransferAccepted" }>["data"];
type TransferDeps = Pick<WorkerDeps, "store" | "now">;

/**
 * Gives what was accepted to the recipient, unless it has changed hands meanwhile. The request does
 * it at once, the reactor after a crash.
 *
 * @param cause the event of the acceptance
 * @returns the position of the change, also when the other of the two was first
 * @throws Refusal `alias.taken`, `project.changed`
 */
export async function completeTransfer(
  { store, now }: TransferDeps,
  cause: Pick<Recorded, "id" | "metadata">,
  { thingId, thingType, ownerId: fromOwnerId, recipientId, offeredById: by, acceptedAt }: Accepted,
): Promise<bigint | undefined> {
  const metadata = causedBy(cause, deterministicId("transfer", cause.id), now());
  const deps = { store, now: () => now().toISOString() };
  const to = { ownerId: recipientId, ownerType: "USER", fromOwnerId, by, at: acceptedAt } as const;
  if (thingType === "TEAM") {
    const { state, position } = await load(store, team, thingId);
    if (state.status !== "active" || state.ownerId !== fromOwnerId) return position;
    const command = { type: "TransferTeam", ...to } as const;
    return (await transferTeam(deps, thingId, command, metadata)).position;
  }
  const { state, position } = await load(store, project, thingId);
  if (state.status !== "created" || state.ownerId !== fromOwnerId) return position;
  const command = { type: "TransferProject", alias: state.alias, ...to } as const;
  return (await transferProject(deps, { id: thingId, metadata }, command)).position;
}

/** Completes transfers whose request died between the acceptance and the change of owner. */
export const transferFollowUp: Reactor = {
  name: "transfer-follow-up",
  types: new Set(["TransferAccepted"]),
  async react(event, deps) {
    const accepted = decode(transferOfferEvents, event);
    if (accepted.type !== "TransferAccepted") return [];
    try {
      await completeTransfer(deps, event, accepted.data);
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
      // The recipient made a project of this alias, or the owner changed it: it stays where it is.
      deps.log.warn({ err: error, eventId: event.id }, "an accepted transfer cannot be completed");
    }
    return [];
  },
};

/** Ends offers that were not accepted in time. */
export async function sweepTransfers({ store, db, now }: WorkerDeps): Promise<void> {
  for (const row of await transfersExpired(db, now(), expiredAtOnce)) {
    const { last, state } = await load(store, transferOffer, row.thing_id);
    if (last === undefined || state.open?.offerId !== row.id) continue;
    const command = { type: "WithdrawTransfer", by: null, at: now().toISOString() } as const;
    const metadata = causedBy(last, deterministicId("expire", row.id), now());
    await handle(store, transferOffer, { id: row.thing_id, command, metadata });
  }
}
