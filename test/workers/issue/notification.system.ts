import { expect } from "chai";

import { issueNotification } from "../../../src/workers/issue/notification.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { expectOk, issueClient } from "../../support/app/issue.ts";
import { startMailbox } from "../../support/app/mailbox.ts";

const mailbox = await startMailbox();
const app = await startTestApp({ workers: true, smtpUrl: mailbox.url });
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
const clara = await app.givenUser("clara");
const dora = await app.givenUser("dora");
await app.givenProject(anna, "forge");
const issues = issueClient(app, anna, "anna/forge");
await issues.invite("boris", "GUEST");
await issues.invite("clara", "GUEST");

const to = ({ alias }: TestUser) => mailbox.to(`${alias}@example.org`);
const note = (localId: unknown, text: string, by = anna) =>
  app.post(`${issues.base}/issue-discussion/${localId}/create`, {
    token: by.token,
    body: { note: text },
  });

/** Waits for one more mail, which clara is sent last: reactions follow the order of the log. */
async function settled(): Promise<void> {
  const before = to(clara).length;
  await issues.created({ assignedUsers: [{ id: clara.id }] });
  await eventually(() => to(clara).length > before);
}

/** @param count how many are to come at least: mails are sent side by side, so a later one may be first */
async function mailsTo(user: TestUser, run: () => Promise<unknown>, count = 0) {
  const before = to(user).length;
  await run();
  await eventually(() => to(user).length >= before + count);
  await settled();
  return to(user).slice(before);
}

const header = (mail: { headers: { key: string; value: string }[] }, key: string) =>
  mail.headers.find((one) => one.key === key)?.value;

const urlOf = (mail: Parameters<typeof header>[0]): string =>
  /^<(.*)>$/.exec(header(mail, "list-unsubscribe") ?? "")?.[1] ?? "";

describe("mail about issues", () => {
  it("is sent once to who is assigned, also when mentioned as well", async () => {
    const details = { title: "Index", description: "@boris", assignedUsers: [{ id: boris.id }] };
    const mails = await mailsTo(boris, () => issues.created(details), 1);
    expect(mails).to.have.length(1);
    expect(mails[0]!.subject).to.match(/^\[anna\/forge\] Index \(#\d+\)$/);
    expect(mails[0]!.text).to.include("You are assigned");
  });

  it("is sent to who is mentioned in a description or comment, with its text", async () => {
    const { localId } = await issues.created();
    const mails = await mailsTo(boris, () => note(localId, "What do you think, @Boris?"), 1);
    expect(mails).to.have.length(1);
    expect(mails[0]!.text).to.include("anna mentions you").and.to.include("What do you think");
    const mention = () => issues.edited(localId, { description: "For @boris" });
    const edited = await mailsTo(boris, mention, 1);
    expect(edited).to.have.length(1);
    const same = await mailsTo(boris, () =>
      issues.edited(localId, { description: "For @boris and others" }),
    );
    expect(same).to.deep.equal([]);
  });

  it("is not sent to oneself, to strangers of a private project or to nobody", async () => {
    const run = () => issues.created({ description: "@anna @dora @nobody" });
    expect(await mailsTo(dora, run)).to.deep.equal([]);
    expect(to(anna)).to.deep.equal([]);
  });

  it("is not sent to who stands in code, in a comment or as a part of another word", async () => {
    const description =
      "`@boris` \\@boris <!-- @boris -->\n\nnpm i @boris/pkg é@boris\n\n    @boris";
    const { localId } = await issues.created();
    const run = async () => {
      await issues.created({ description });
      await note(localId, "```\n@boris\n```");
    };
    expect(await mailsTo(boris, run)).to.deep.equal([]);
  });

  it("cannot be made to hold other headers by a title", async () => {
    const { localId } = await issues.created();
    // As titles were that were stored when they might have several lines.
    const title = "One\r\nBcc: dora@example.org\r\n\r\nText";
    await app.deps
      .db("issue")
      .where({ local_id: Number(localId) })
      .update({ title });
    const comment = () => note(localId, "@boris");
    const [mail] = await mailsTo(boris, comment, 1);
    expect(mail!.recipients).to.deep.equal(["boris@example.org"]);
    expect(mail!.subject).to.contain("Bcc: dora");
    expect(header(mail!, "bcc")).to.equal(undefined);
  });

  it("is scheduled once though an event is reacted to again", async () => {
    await issues.created({ assignedUsers: [{ id: boris.id }] });
    await settled();
    const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };
    const scheduled = async () => (await app.deps.db("mail").pluck("id")).sort();
    const before = await scheduled();
    for await (const event of app.deps.store.readAll()) {
      if (issueNotification.types.has(event.type)) await issueNotification.react(event, deps);
    }
    await app.deps.visible(await app.head());
    expect(await scheduled()).to.deep.equal(before);
  });
});

describe("stopping mail about issues", () => {
  const mention = () => issues.created({ description: "@boris" });
  const settings = "/user/settings/notification";
  let url: string;

  before(async () => {
    const [mail] = await mailsTo(boris, mention, 1);
    expect(header(mail!, "list-unsubscribe-post")).to.equal("List-Unsubscribe=One-Click");
    url = urlOf(mail!);
    expect(mail!.text).to.include(url);
  });

  it("changes nothing when the link is only opened", async () => {
    const page = await fetch(url);
    expect([page.status, await page.text()]).to.satisfy(
      ([status, text]: [number, string]) => status === 200 && text.includes("Stop these mails"),
    );
    expect(await mailsTo(boris, mention, 1)).to.have.length(1);
  });

  for (const type of ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
    it(`works by one POST of ${type} without login`, async () => {
      const put = { token: boris.token, body: { mail: true } };
      expectOk(await app.put(settings, put));
      const answer = await fetch(url, {
        method: "POST",
        body: "List-Unsubscribe=One-Click",
        headers: { "content-type": type, origin: "https://mail.example.org" },
      });
      expect(answer.status, await answer.text()).to.equal(200);
      expect(await mailsTo(boris, mention)).to.deep.equal([]);
      expect(expectOk(await app.get(settings, { token: boris.token }))).to.deep.equal({
        mail: false,
      });
    });
  }

  it("is taken back in the settings", async () => {
    expectOk(await app.put(settings, { token: boris.token, body: { mail: true } }));
    expect(await mailsTo(boris, mention, 1)).to.have.length(1);
  });

  it("rejects links that were changed", async () => {
    const wishes = async () => expectOk(await app.get(settings, { token: boris.token }));
    expect(await wishes()).to.deep.equal({ mail: true });
    const other = new URL(url);
    const token = other.searchParams.get("token") ?? "";
    for (const wrong of ["", "x", token.slice(0, -1), `${anna.id}${token.slice(36)}`]) {
      other.searchParams.set("token", wrong);
      expect((await fetch(other, { method: "POST" })).status, wrong).to.equal(422);
      expect((await fetch(other)).status, wrong).to.equal(422);
    }
    // Mails of before may still be recorded as sent, so the head of the log says nothing.
    expect(await wishes()).to.deep.equal({ mail: true });
  });
});

describe("mail that waits while access is lost", () => {
  it("is not sent", async () => {
    mailbox.refuse(451);
    await issues.created({ assignedUsers: [{ id: boris.id }], title: "Confidential" });
    // Who has no access when the event is reacted to gets no mail at all.
    await eventually(() => mailbox.refused() > 0);
    expectOk(await app.delete(`${issues.base}/member/boris`, { token: anna.token }));
    const failed = () =>
      app.deps.db("mail").where({ holder_id: boris.id, status: "FAILED", failure: "over" });
    // Refused until the mail is given up: an attempt may have begun before the access was lost.
    await eventually(async () => (await failed()).length > 0, 120_000);
    mailbox.refuse(undefined);
    expect(to(boris).filter(({ subject = "" }) => subject.includes("Confidential"))).to.deep.equal(
      [],
    );
  });
});
