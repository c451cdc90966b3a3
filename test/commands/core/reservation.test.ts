import { reservation } from "../../../src/commands/core/reservation.ts";
import type { ReservationEvent } from "../../../src/events/core/reservation.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(reservation);
const anna = "0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d";
const bob = "9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d";

const reserved = (holderId: string): ReservationEvent => ({
  type: "NameReserved",
  data: { holderId, reservedAt: at },
});
const released = (holderId: string): ReservationEvent => ({
  type: "NameReleased",
  data: { holderId, releasedAt: at },
});

describe("reserving a name", () => {
  it("gives a free name to the first request", () => {
    given().when({ type: "ReserveName", holderId: anna, at }).gives(reserved(anna));
  });

  it("gives a released name to the next", () => {
    given(reserved(anna), released(anna))
      .when({ type: "ReserveName", holderId: bob, at })
      .gives(reserved(bob));
  });

  it("changes nothing for the one who holds it", () => {
    given(reserved(anna)).when({ type: "ReserveName", holderId: anna, at }).givesNothing();
  });

  it("is refused while another holder has it", () => {
    given(reserved(anna))
      .when({ type: "ReserveName", holderId: bob, at })
      .refuses("reservation.taken");
  });

  it("takes over from a holder that never came into being", () => {
    given(reserved(anna))
      .when({ type: "ReserveName", holderId: bob, abandonedHolderId: anna, at })
      .gives(released(anna), reserved(bob));
  });

  it("is refused when another holder took the name meanwhile", () => {
    given(reserved(anna), released(anna), reserved(bob))
      .when({ type: "ReserveName", holderId: crypto.randomUUID(), abandonedHolderId: anna, at })
      .refuses("reservation.taken");
  });
});

describe("releasing a name", () => {
  it("frees it", () => {
    given(reserved(anna)).when({ type: "ReleaseName", holderId: anna, at }).gives(released(anna));
  });

  it("does nothing to a name of another holder, or of none", () => {
    given(reserved(bob)).when({ type: "ReleaseName", holderId: anna, at }).givesNothing();
    given().when({ type: "ReleaseName", holderId: anna, at }).givesNothing();
  });
});
