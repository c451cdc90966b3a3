import { z } from "zod";

import { type CommandResult, currentState, handle, later } from "../../../commands/core/handle.ts";
import { project } from "../../../commands/project/project.ts";
import { reserveProjectName } from "../../../commands/project/project-name.ts";
import {
  type TransferOfferCommand,
  transferNotFound,
  transferOffer,
} from "../../../commands/team/transfer-offer.ts";
import { decode } from "../../../events/core/decode.ts";
import type { EventMetadata } from "../../../events/core/event.ts";
import { UserId } from "../../../events/core/ids.ts";
import {
  TransferableType,
  transferOfferEvents,
  transferOfferStream,
} from "../../../events/team/transfer-offer.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findOwner, type OwnerRow } from "../../../projections/team/owner.ts";
import {
  findTransfer,
  listTransfersTo,
  type PendingTransferRow,
} from "../../../projections/team/transfer-offer.ts";
import { completeTransfer } from "../../../services/team/transfer-offer.ts";
import { hasScope } from "../../access/gate.ts";
import { mayCreateFor } from "../../access/owner.ts";
import { commandDeps } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";

const lifeMs = 14 * 24 * 60 * 60_000;

type Request = RequestContext & Readonly<{ userId: UserId }>;
export type Transferable = Readonly<{
  id: string;
  type: TransferableType;
  ownerId: string;
  ownerAlias: string;
}>;

/** Whether the caller is an administrator of the instance, with a token that administers it. */
export function actsAsAdministrator({ isAdmin, scopes }: RequestContext): boolean {
  return isAdmin && hasScope(scopes, "USER_WRITE");
}

/**
 * Only the owner gives something away: the user it belongs to, or an ADMIN of the team or company;
 * and administrators of the instance.
 *
 * @throws Refusal 403 `transfer.owner_only`
 */
export async function mustMayTransfer(
  { ownerAlias }: Transferable,
  request: Request,
  { db }: Deps,
): Promise<void> {
  if (actsAsAdministrator(request)) return;
  const owner = await findOwner(db, ownerAlias);
  if (owner !== undefined && (await mayCreateFor(db, owner, request.userId))) return;
  const message = "Only its owner may transfer it.";
  throw new Refusal("forbidden", "transfer.owner_only", message);
}

/** Whether the new owner has to agree: another user does, unless an administrator decides. */
export function needsConsent(to: OwnerRow, request: Request): boolean {
  return to.type === "USER" && to.id !== request.userId && !actsAsAdministrator(request);
}

/** Offers it to a user; an offer to the present owner withdraws the one that is open. */
export async function offerTransfer(
  { id, type, ownerId }: Transferable,
  to: OwnerRow,
  request: Request,
  { now }: Deps,
): Promise<void> {
  const at = now();
  const offer = {
    offerId: deterministicId(request.commandId, "transfer offer"),
    thingId: id,
    thingType: type,
    ownerId,
    recipientId: UserId.parse(to.id),
    offeredById: request.userId,
    expiresAt: new Date(at.getTime() + lifeMs).toISOString(),
  };
  const command = { type: "OfferTransfer", offer, at: at.toISOString() } as const;
  await request.execute(transferOffer, id, command);
}

/** Ends an open offer of something, if there is one: it has another owner, or keeps its own. */
export async function withdrawTransfer(id: string, request: Request, deps: Deps): Promise<void> {
  await request.execute(transferOffer, id, withdrawal(request, deps));
}

/** Withdraws an offer that a transfer made useless, without a wait in between. @returns the later of the two */
export async function withdrawAfter(
  transferred: CommandResult,
  order: Readonly<{ id: string; metadata: EventMetadata }>,
  request: Request,
  deps: Deps,
): Promise<CommandResult> {
  const command = withdrawal(request, deps);
  const withdrawn = await handle(deps.store, transferOffer, { ...order, command });
  return { position: later(transferred.position, withdrawn.position) };
}

const withdrawal = ({ userId: by }: Request, { now }: Deps) =>
  ({ type: "WithdrawTransfer", by, at: now().toISOString() }) as const;

export const TransferView = z
  .object({
    id: z.uuid(),
    type: TransferableType,
    title: z.string(),
    alias: z.string(),
    ownerAlias: z.string().meta({ description: "Of the present owner." }),
    offeredBy: z.string().meta({ description: "Alias." }),
    createdAt: instant(),
    expiresAt: instant(),
  })
  .meta({ id: "Transfer" });

const common = { tag: "Users", access: "user" } as const;
const answering = {
  ...common,
  method: "post",
  scope: "USER_WRITE",
  reply: "empty",
} as const;

const listTransfers = route({
  ...common,
  method: "get",
  path: "/user/transfer",
  operationId: "listTransfers",
  summary: "List projects and teams that are offered to the current user",
  scope: "USER_READ",
  list: "transferList",
  reply: TransferView,
  handle: ({ page, request: { userId: recipientId } }, { db, now }) =>
    listed(listTransfersTo(db, { recipientId, now: now(), ...page }), (row) =>
      toView(TransferView, row, { type: row.thing_type, offeredBy: row.offered_by_alias }),
    ),
});

const acceptTransfer = route({
  ...answering,
  path: "/user/transfer/{transferUuid}/accept",
  operationId: "acceptTransfer",
  summary: "Become the owner of a project or team that is offered",
  async handle({ params: { transferUuid: id }, request }, deps) {
    const row = await mustFind(id, request, deps);
    await mustStillBeOffered(row, deps);
    if (row.thing_type === "PROJECT") await reserveAliasOf(row, request, deps);
    await answer("AcceptTransfer", row, request, deps);
    for await (const recorded of deps.store.readStreamBackwards(
      transferOfferStream(row.thing_id),
      1,
    )) {
      const event = decode(transferOfferEvents, recorded);
      if (event.type !== "TransferAccepted") continue;
      await request.visible(await completeTransfer(deps, event, event.data));
    }
  },
});

const declineTransfer = route({
  ...answering,
  path: "/user/transfer/{transferUuid}/decline",
  operationId: "declineTransfer",
  summary: "Decline a project or team that is offered",
  async handle({ params: { transferUuid: id }, request }, deps) {
    await answer("DeclineTransfer", await mustFind(id, request, deps), request, deps);
  },
});

export const transferRoutes: readonly Route[] = [listTransfers, acceptTransfer, declineTransfer];

/** @throws Refusal 404 */
async function mustFind(
  id: string,
  { userId }: Request,
  { db, now }: Deps,
): Promise<PendingTransferRow> {
  const row = await findTransfer(db, { id }, now());
  if (row?.recipient_id === userId) return row;
  throw transferNotFound();
}

/** The user who offered it must still be able to: rights are checked again when the transfer happens. */
async function mustStillBeOffered(
  { owner_alias, offered_by_id }: PendingTransferRow,
  { db }: Deps,
): Promise<void> {
  const owner = await findOwner(db, owner_alias);
  const offerer = UserId.parse(offered_by_id);
  const stands = owner !== undefined && (await mayCreateFor(db, owner, offerer));
  const blocked = await db("app_user").where({ id: offerer }).whereNotNull("banned_at").first("id");
  if (stands && blocked === undefined) return;
  const message = "The one who offered it is no longer its owner.";
  throw new Refusal("unprocessable", "transfer.lapsed", message);
}

/** Before the offer is used up: a taken alias leaves it open. @throws Refusal 422 `alias.taken` */
async function reserveAliasOf(
  { thing_id, recipient_id }: PendingTransferRow,
  request: Request,
  deps: Deps,
): Promise<void> {
  const state = await currentState(deps.store, project, thing_id);
  if (state.status !== "created") throw transferNotFound();
  const name = { ownerId: recipient_id, alias: state.alias };
  await reserveProjectName(commandDeps(deps), thing_id, name, await request.metadata());
}

async function answer(
  type: Extract<TransferOfferCommand, { offerId: string }>["type"],
  { id: offerId, thing_id: id }: PendingTransferRow,
  request: Request,
  { now }: Deps,
): Promise<void> {
  const { userId } = request;
  const command = { type, offerId, userId, at: now().toISOString() } as const;
  await request.execute(transferOffer, id, command);
}
