import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";

const app = await startTestApp({ workers: true });
const root = await app.givenUser("root", { admin: true });
const as = { token: root.token };
type Mail = Readonly<Record<"id" | "kind" | "recipient" | "status" | "subject" | "text", string>>;

describe("the outbox of an instance without a mail server", () => {
  let mail: Mail;

  before(async () => {
    const body = { enableEmailValidation: true, userAutoConfirm: false };
    await app.post("/admin/settings/email-validation", { ...as, body });
    const registered = { email: "anna@example.org", password: "correct horse", alias: "anna" };
    expect((await app.post("/user/register", { body: registered })).status).to.equal(200);
    mail = await eventually(async () => {
      const { body: list } = await app.get("/admin/mail?status=WAITING", as);
      return (list["_embedded"] as { mailList: Mail[] }).mailList[0] ?? expect.fail("no mail");
    });
  });

  it("shows administrators what waits, with the link to pass on", async () => {
    expect(mail).to.include({ kind: "EMAIL_CONFIRMATION", recipient: "anna@example.org" });
    expect(mail).not.to.have.property("text");
    const { body } = await app.get(`/admin/mail/${mail.id}`, as);
    expect(body["subject"]).to.match(/^Confirm your e-mail/);
    const [, token] = /token=(\S+)/.exec(String(body["text"])) ?? [];
    const confirmed = await app.post("/user/email-confirmation/confirm", { body: { token } });
    expect(confirmed.status, confirmed.text).to.equal(200);
  });

  it("keeps the address sealed, in the log and in its table", async () => {
    const rows = await app.deps.db("mail").where({ id: mail.id });
    expect(JSON.stringify(rows)).not.to.contain("anna@example.org");
    await app.deps.vault.forget(String((rows[0] as { recipient: string }).recipient.split(".")[1]));
    await eventually(async () => {
      const { body } = await app.get(`/admin/mail/${mail.id}`, as);
      return body["recipient"] === null && body["text"] === null;
    });
  });

  it("has no mail under an id that nobody has, and nothing for others", async () => {
    expect((await app.get(`/admin/mail/${randomUUID()}`, as)).body["code"]).to.equal(
      "mail.not_found",
    );
    const bob = await app.givenUser("bob");
    expect((await app.get("/admin/mail", { token: bob.token })).status).to.equal(403);
  });
});
