import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

export const TransferableType = z.enum(["PROJECT", "TEAM"]);
export type TransferableType = z.output<typeof TransferableType>;

const offer = {
  offerId: z.uuid(),
  thingId: z.uuid(),
  thingType: TransferableType,
  /** The owner at the time of the offer: the offer holds only as long as it belongs to them. */
  ownerId: z.uuid(),
  recipientId: UserId,
  offeredById: UserId,
};

/** A project or team that is offered to another user, who becomes its owner by accepting. */
export const transferOfferEvents = {
  TransferOffered: z.object({ ...offer, expiresAt: IsoInstant, offeredAt: IsoInstant }),
  TransferAccepted: z.object({ ...offer, acceptedAt: IsoInstant }),
  TransferDeclined: z.object({
    offerId: z.uuid(),
    declinedById: UserId,
    declinedAt: IsoInstant,
  }),
  /** By null when it expired. */
  TransferWithdrawn: z.object({
    offerId: z.uuid(),
    withdrawnById: UserId.nullable(),
    withdrawnAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type TransferOfferEvent = EventOf<typeof transferOfferEvents>;

/** One stream for each project or team: at most one offer of it is open. */
export const transferOfferStream = (thingId: string): string =>
  streamName("transferOffer", thingId);
