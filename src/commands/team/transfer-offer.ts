import type { UserId } from "../../events/core/ids.ts";
import {
  type TransferOfferEvent,
  transferOfferEvents,
  transferOfferStream,
} from "../../events/team/transfer-offer.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type Offered = Extract<TransferOfferEvent, { type: "TransferOffered" }>["data"];
type ByRecipient = Readonly<{ offerId: string; userId: UserId; at: string }>;

export type TransferOfferCommand =
  | Readonly<{ type: "OfferTransfer"; offer: Omit<Offered, "offeredAt">; at: string }>
  | (ByRecipient & Readonly<{ type: "AcceptTransfer" | "DeclineTransfer" }>)
  /** `by` is null when the time is over. */
  | Readonly<{ type: "WithdrawTransfer"; by: UserId | null; at: string }>;

export type TransferOfferState = Readonly<{ open: Offered | undefined }>;

export const transferOffer: Slice<
  TransferOfferState,
  TransferOfferCommand,
  typeof transferOfferEvents
> = {
  events: transferOfferEvents,
  stream: transferOfferStream,
  initialState: { open: undefined },

  decide({ open }, command) {
    const { at } = command;
    switch (command.type) {
      case "OfferTransfer": {
        const { offer } = command;
        if (open !== undefined && open.expiresAt > at && isSame(open, offer)) return [];
        const offered = { type: "TransferOffered", data: { ...offer, offeredAt: at } } as const;
        return open === undefined ? [offered] : [withdrawn(open, offer.offeredById, at), offered];
      }
      case "WithdrawTransfer":
        return open === undefined ? [] : [withdrawn(open, command.by, at)];
      case "AcceptTransfer": {
        const { expiresAt: _, offeredAt: __, ...offer } = mustBeOffered(open, command);
        return [{ type: "TransferAccepted", data: { ...offer, acceptedAt: at } }];
      }
      case "DeclineTransfer": {
        const { offerId } = mustBeOffered(open, command);
        const data = { offerId, declinedById: command.userId, declinedAt: at };
        return [{ type: "TransferDeclined", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(_state, event) {
    return { open: event.type === "TransferOffered" ? event.data : undefined };
  },
};

const isSame = (one: Offered, other: Omit<Offered, "offeredAt">): boolean =>
  one.recipientId === other.recipientId && one.ownerId === other.ownerId;

function withdrawn({ offerId }: Offered, by: UserId | null, at: string): TransferOfferEvent {
  return { type: "TransferWithdrawn", data: { offerId, withdrawnById: by, withdrawnAt: at } };
}

function mustBeOffered(open: Offered | undefined, { offerId, userId, at }: ByRecipient): Offered {
  const isTheirs = open?.offerId === offerId && open.recipientId === userId;
  if (open !== undefined && isTheirs && open.expiresAt > at) return open;
  throw transferNotFound();
}

export const transferNotFound = (): Refusal =>
  new Refusal("not_found", "transfer.not_found", "There is no such open transfer to you.");
