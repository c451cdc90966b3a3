import { transferProject } from "../../commands/project/change-project.ts";
import { project } from "../../commands/project/project.ts";
import { transferTeam } from "../../commands/team/change-team.ts";
import { team } from "../../commands/team/team.ts";
import type { Recorded } from "../../events/core/event.ts";
import type { TransferOfferEvent } from "../../events/team/transfer-offer.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { causedBy, load } from "../core/caused-by.ts";
import type { WorkerDeps } from "../core/deps.ts";

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
