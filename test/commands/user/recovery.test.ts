import { recovery } from "../../../src/commands/user/recovery.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import type { recoveryEvents } from "../../../src/events/user/recovery.ts";
import { specify } from "../../support/app/decider.ts";

type RecoveryEvent = EventOf<typeof recoveryEvents>;

const given = specify(recovery);
const at = (minute: number) =>
  `2026-01-02T0${Math.floor(minute / 60)}:${`${minute % 60}`.padStart(2, "0")}:00.000Z`;
const requestedAt = (minute: number): RecoveryEvent => ({
  type: "PasswordResetAsked",
  data: { emailDigest: "d1", askedAt: at(minute) },
});
const send = (minute: number) =>
  ({ type: "RequestPasswordReset", emailDigest: "d1", at: at(minute) }) as const;

describe("asking for a mail with nothing but an address", () => {
  it("is noted", () => {
    given().when(send(0)).gives(requestedAt(0));
    given(requestedAt(0))
      .when({ ...send(1), type: "RequestEmailConfirmation" })
      .gives({ type: "EmailConfirmationAsked", data: { emailDigest: "d1", askedAt: at(1) } });
  });

  it("changes nothing a fourth time within an hour, whichever of the two", () => {
    given(requestedAt(0), requestedAt(1), requestedAt(2)).when(send(59)).givesNothing();
    given(requestedAt(0), requestedAt(1), requestedAt(2))
      .when({ ...send(3), type: "RequestEmailConfirmation" })
      .givesNothing();
    given(requestedAt(0), requestedAt(1), requestedAt(2)).when(send(60)).gives(requestedAt(60));
    given(requestedAt(0), requestedAt(1), requestedAt(2), requestedAt(60))
      .when(send(60))
      .givesNothing();
  });
});
