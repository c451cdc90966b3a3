import { mail } from "../../../src/commands/user/mail.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { MailEvent } from "../../../src/events/user/mail.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(mail);
const wanted = {
  mailId: "1a9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d",
  kind: "PASSWORD_RESET",
  to: Sealed.parse("sealed.user-9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d.AAAA"),
  holderId: "9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d",
  requestId: "6f0c8a51-7f6e-4c0c-9d0a-0c7f6f1a2b3c",
  expiresAt: at,
} as const;
const scheduled: MailEvent = { type: "MailScheduled", data: { ...wanted, scheduledAt: at } };
const sent: MailEvent = { type: "MailSent", data: { sentAt: at } };
const failed: MailEvent = { type: "MailFailed", data: { reason: "refused", failedAt: at } };
const removed: MailEvent = { type: "MailRemoved", data: { removedAt: at } };

describe("a mail", () => {
  it("is scheduled once", () => {
    const command = { type: "ScheduleMail", mail: wanted, at } as const;
    given().when(command).gives(scheduled);
    given(scheduled).when(command).givesNothing();
    given(scheduled, removed).when(command).givesNothing();
  });

  it("is sent or given up once, and neither after the other", () => {
    const send = { type: "RecordMailSent", at } as const;
    const giveUp = { type: "GiveUpMail", reason: "refused", at } as const;
    given(scheduled).when(send).gives(sent);
    given(scheduled).when(giveUp).gives(failed);
    for (const end of [sent, failed, removed]) {
      given(scheduled, end).when(send).givesNothing();
      given(scheduled, end).when(giveUp).givesNothing();
    }
    given().when(send).givesNothing();
  });

  it("is removed once, however it ended", () => {
    const command = { type: "RemoveMail", at } as const;
    given(scheduled).when(command).gives(removed);
    given(scheduled, sent).when(command).gives(removed);
    given(scheduled, sent, removed).when(command).givesNothing();
    given().when(command).givesNothing();
  });
});
