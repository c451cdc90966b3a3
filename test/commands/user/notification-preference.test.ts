import { expect } from "chai";
import {
  notificationPreference,
  readUnsubscribeToken,
  unsubscribeToken,
} from "../../../src/commands/user/notification-preference.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import type { notificationPreferenceEvents } from "../../../src/events/user/notification-preference.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type NotificationPreferenceEvent = EventOf<typeof notificationPreferenceEvents>;

const given = specify(notificationPreference);
const userId = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const stop = { type: "StopNotificationMail", userId, at } as const;
const resume = { type: "ResumeNotificationMail", userId, at } as const;
const stopped: NotificationPreferenceEvent = {
  type: "NotificationMailStopped",
  data: { userId, stoppedAt: at },
};
const resumed: NotificationPreferenceEvent = {
  type: "NotificationMailResumed",
  data: { userId, resumedAt: at },
};

describe("mail about assignments and mentions", () => {
  it("is sent until it is stopped, and again when it is resumed", () => {
    given().when(resume).givesNothing();
    given().when(stop).gives(stopped);
    given(stopped).when(stop).givesNothing();
    given(stopped).when(resume).gives(resumed);
    given(stopped, resumed).when(stop).gives(stopped);
  });
});

describe("the token of an unsubscribe link", () => {
  const vault = { digest: (purpose: string, text: string) => `${purpose}-${text.length}` };

  it("names one person and is not accepted in another form", () => {
    const token = unsubscribeToken(vault, userId);
    expect(readUnsubscribeToken(vault, token)).to.equal(userId);
    for (const wrong of ["", ".", "x", `${token}x`, token.slice(1), userId, `${userId}.`]) {
      expect(readUnsubscribeToken(vault, wrong), wrong).to.equal(undefined);
    }
  });
});
