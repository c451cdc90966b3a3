import { expect } from "chai";

import { MailRefused, oneLine, openMailer } from "../../src/platform/mailer.ts";
import { startMailbox } from "../support/app/mailbox.ts";

const mailbox = await startMailbox();
const mailer = openMailer({
  smtpUrl: mailbox.url,
  from: "Forge <no-reply@forge.example>",
  host: "forge.example",
});
after(() => mailer.close());
afterEach(() => mailbox.refuse(undefined));

const message = { id: "m1", to: "anna@example.org", subject: "Grüße", text: "Hallo.\n\nÄ\n" };

describe("a mailer", () => {
  it("sends a text, under an id that stays the same", async () => {
    await mailer.send(message);
    const [mail] = mailbox.to("anna@example.org");
    expect(mail).to.include({ subject: "Grüße", messageId: "<m1@forge.example>" });
    expect(mail?.text?.trim()).to.equal("Hallo.\n\nÄ");
    expect(mail?.from).to.include({ name: "Forge", address: "no-reply@forge.example" });
    expect(mail?.raw).to.match(/^Auto-Submitted: auto-generated\r$/m);
  });

  it("lets nothing begin another header or name another recipient", async () => {
    const evil = "x\r\nBcc: spy@example.org\r\n\r\nbody\u2028y\u0000z";
    await mailer.send({ ...message, id: "m2", subject: evil });
    const mail = mailbox.mails.at(-1);
    expect(mail?.recipients).to.deep.equal(["anna@example.org"]);
    expect(mail?.subject).to.equal("x Bcc: spy@example.org body y z");
    expect(mail?.raw).not.to.match(/^Bcc:/im);

    for (const to of ["a@example.org, spy@example.org", "a@example.org\r\nRCPT TO:<spy@x.org>"]) {
      const before = mailbox.mails.length;
      await mailer.send({ ...message, id: "m3", to }).catch(() => undefined);
      for (const { recipients } of mailbox.mails.slice(before)) {
        expect(recipients).not.to.include("spy@example.org").and.not.to.include("spy@x.org");
        expect(recipients).to.have.length(1);
      }
    }
  });

  it("says which refusals are for good", async () => {
    mailbox.refuse(550);
    await expect(mailer.send(message)).to.be.rejectedWith(MailRefused);
    mailbox.refuse(451);
    await expect(mailer.send(message)).to.be.rejected.and.eventually.not.be.instanceOf(MailRefused);
  });

  it("fails, to be tried again, when there is no server", async () => {
    const nobody = openMailer({ smtpUrl: "smtp://127.0.0.1:1", from: "a@b.example", host: "b" });
    await expect(nobody.send(message)).to.be.rejected.and.eventually.not.be.instanceOf(MailRefused);
    nobody.close();
  });

  it("keeps headers short", () => {
    expect(oneLine("x".repeat(10_000))).to.have.length(500);
  });
});
