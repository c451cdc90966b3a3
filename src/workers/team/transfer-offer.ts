import { handle } from "../../commands/core/handle.ts";
import { transferOffer } from "../../commands/team/transfer-offer.ts";
import { decode } from "../../events/core/decode.ts";
import { transferOfferEvents } from "../../events/team/transfer-offer.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import { transfersExpired } from "../../projections/team/transfer-offer.ts";
import { causedBy, load } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { completeTransfer } from "../../services/team/transfer-offer.ts";
import type { Reactor } from "../core/reactor.ts";

const expiredAtOnce = 200;

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
