import { transferOffer } from "../../../src/commands/team/transfer-offer.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import type { TransferOfferEvent } from "../../../src/events/team/transfer-offer.ts";
import { specify } from "../../support/app/decider.ts";

const given = specify(transferOffer);
const anna = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const bob = UserId.parse("5d1b7a90-3c2e-4f61-8b7d-9e0f1a2b3c4d");
const at = "2026-01-02T00:00:00.000Z";
const expiresAt = "2026-01-16T00:00:00.000Z";
const offer = {
  offerId: "7f0c8a51-7f6e-4c0c-9d0a-0c7f6f1a2b3c",
  thingId: "8f0c8a51-7f6e-4c0c-9d0a-0c7f6f1a2b3c",
  thingType: "TEAM",
  ownerId: anna,
  recipientId: bob,
  offeredById: anna,
} as const;
const offered: TransferOfferEvent = {
  type: "TransferOffered",
  data: { ...offer, expiresAt, offeredAt: at },
};
const withdrawn = (by: UserId | null, when = at): TransferOfferEvent => ({
  type: "TransferWithdrawn",
  data: { offerId: offer.offerId, withdrawnById: by, withdrawnAt: when },
});
const make = (over: object = {}) =>
  ({ type: "OfferTransfer", offer: { ...offer, expiresAt, ...over }, at }) as const;
const accept = { type: "AcceptTransfer", offerId: offer.offerId, userId: bob, at } as const;
const decline = { ...accept, type: "DeclineTransfer" } as const;

describe("an offer of a transfer", () => {
  it("is made once, and replaced by one to another recipient", () => {
    given().when(make()).gives(offered);
    given(offered).when(make()).givesNothing();
    const other = { offerId: "9f0c8a51-7f6e-4c0c-9d0a-0c7f6f1a2b3c", recipientId: anna };
    const data = { ...offer, ...other, expiresAt, offeredAt: at };
    given(offered).when(make(other)).gives(withdrawn(anna), { type: "TransferOffered", data });
  });

  it("is accepted by its recipient alone, once and in time", () => {
    given(offered)
      .when(accept)
      .gives({ type: "TransferAccepted", data: { ...offer, acceptedAt: at } });
    given(offered)
      .when({ ...accept, userId: anna })
      .refuses("transfer.not_found");
    given(offered)
      .when({ ...accept, offerId: offer.thingId })
      .refuses("transfer.not_found");
    given(offered)
      .when({ ...accept, at: expiresAt })
      .refuses("transfer.not_found");
    given().when(accept).refuses("transfer.not_found");
    given(offered, withdrawn(anna)).when(accept).refuses("transfer.not_found");
  });

  it("is declined by its recipient alone", () => {
    const data = { offerId: offer.offerId, declinedById: bob, declinedAt: at };
    given(offered).when(decline).gives({ type: "TransferDeclined", data });
    given(offered)
      .when({ ...decline, userId: anna })
      .refuses("transfer.not_found");
  });

  it("is withdrawn when there is one, by nobody when its time is over", () => {
    given(offered).when({ type: "WithdrawTransfer", by: anna, at }).gives(withdrawn(anna));
    given(offered).when({ type: "WithdrawTransfer", by: null, at }).gives(withdrawn(null));
    given().when({ type: "WithdrawTransfer", by: anna, at }).givesNothing();
  });
});
