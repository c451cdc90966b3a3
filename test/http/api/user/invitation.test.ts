import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { ownerScopes } from "../../../../src/http/access/owner-scope.ts";
import type { WorkerDeps } from "../../../../src/services/core/deps.ts";
import { sweepInvitations } from "../../../../src/workers/user/invitation.ts";
import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { startMailbox } from "../../../support/app/mailbox.ts";
import { browser } from "../../../support/client/browser.ts";

const mailbox = await startMailbox();
const app = await startTestApp({ workers: true, smtpUrl: mailbox.url, cheapPasswords: true });
const root = await app.givenUser("root", { admin: true });
const password = "correct horse battery";
let anna: TestUser;
let bases: Record<string, string>;
let email: string;
let count = 0;

beforeEach(async () => {
  count += 1;
  email = `guest-${count}@example.org`;
  anna = await app.givenUser(`anna-${count}`);
  await app.deps.counters.delete("anonymous-register:127.0.0.1");
  await app.givenProject(anna, "hidden");
  for (const kind of ["team", "company"]) {
    const alias = `${kind}-${count}`;
    const body = { title: "Search", alias, isPrivate: true };
    expect((await app.post(`/${kind}`, { token: anna.token, body })).status).to.equal(200);
    // As titles were that were stored when they might have several lines.
    await app.deps.db(kind).where({ alias }).update({ title: "Search\r\nBcc: spy@example.org" });
  }
  bases = {
    project: `/project/${anna.alias}/hidden`,
    team: `/team/team-${count}`,
    company: `/company/company-${count}`,
  };
});

const as = ({ token }: { token: string }, body?: unknown) => ({ token, body });
const invite = (base: string, to = email, role = "DEVELOPER") =>
  app.post(`${base}/member/invite`, as(anna, { email: to, role }));
const linkTo = (address = email) => mailbox.linkTo(address, "/account/invitation");
type Item = Readonly<Record<"id" | "email" | "role" | "invitedBy", string>>;
const listed = async (base: string) => {
  const { body } = await app.get(`${base}/member/invitation`, as(anna));
  return (body["_embedded"] as { invitationList: Item[] }).invitationList;
};
const roleIn = async (base: string, alias: string) => {
  const { body } = await app.get(`${base}/member?q=${alias}`, as(anna));
  const [member] = (body["_embedded"] as { userList: { role: string }[] }).userList;
  return member?.role;
};
const register = (alias: string, over: object = {}) =>
  app.post("/user/register", { body: { alias, email, password, ...over } });

for (const { resource } of ownerScopes) {
  describe(`an invitation to a ${resource}`, () => {
    it("makes who registers by its link a member, with a confirmed e-mail", async () => {
      await app.post(
        "/admin/settings/email-validation",
        as(root, { enableEmailValidation: true, userAutoConfirm: false }),
      );
      const base = bases[resource]!;
      expect((await invite(base)).status).to.equal(200);
      const [item] = await listed(base);
      expect(item).to.include({ email, role: "DEVELOPER", invitedBy: anna.alias });

      const made = await register(`guest-${count}`, { invitation: await linkTo() });
      expect(made.status, made.text).to.equal(200);
      expect(await roleIn(base, `guest-${count}`)).to.equal("DEVELOPER");
      expect(await listed(base)).to.deep.equal([]);
      const { body } = await app.get(`/admin/user?q=guest-${count}`, as(root));
      const [user] = (body["_embedded"] as { restUserAdminModelList: object[] })
        .restUserAdminModelList;
      expect(user).to.include({ confirmed: true });
      await app.post(
        "/admin/settings/email-validation",
        as(root, { enableEmailValidation: false, userAutoConfirm: true }),
      );
    });
  });
}

describe("an invitation", () => {
  it("says who invites where, in one header line and to one address", async () => {
    await invite(bases["team"]!);
    await linkTo();
    const [mail] = mailbox.to(email);
    expect(mail?.subject).to.equal(
      `${anna.alias} invites you to the team Search Bcc: spy@example.org`,
    );
    expect(mail?.raw).not.to.match(/^Bcc:/im);
    expect(mail?.recipients).to.deep.equal([email]);
  });

  it("is accepted once by an account there is, whatever its address", async () => {
    const base = bases["project"]!;
    await invite(base);
    const token = await linkTo();
    const bob = await app.givenUser(`bob-${count}`);
    const accept = (user: TestUser) => app.post("/user/invitation/accept", as(user, { token }));
    expect((await accept(bob)).status).to.equal(200);
    expect(await roleIn(base, bob.alias)).to.equal("DEVELOPER");
    expect(codeOf(await accept(root))).to.deep.equal([422, "link.invalid"]);
  });

  it("is not accepted by who merely claims the address, only by who proves it", async () => {
    const base = bases["project"]!;
    await invite(base);
    // Confirmed automatically: that proves nothing.
    expect((await register(`claims-${count}`)).status).to.equal(200);
    expect(await roleIn(base, `claims-${count}`)).to.equal(undefined);

    const other = `proves-${count}@example.org`;
    await invite(base, other);
    await app.post(
      "/admin/settings/email-validation",
      as(root, { enableEmailValidation: true, userAutoConfirm: false }),
    );
    await register(`proves-${count}`, { email: other });
    const token = await mailbox.linkTo(other, "/account/confirm-email");
    await app.post("/user/email-confirmation/confirm", { body: { token } });
    await eventually(async () => (await roleIn(base, `proves-${count}`)) === "DEVELOPER");
    await app.post(
      "/admin/settings/email-validation",
      as(root, { enableEmailValidation: false, userAutoConfirm: true }),
    );
  });

  it("is taken back by those who may, by its own id in its own project, team or company", async () => {
    const base = bases["team"]!;
    await invite(base);
    const token = await linkTo();
    const [{ id }] = (await listed(base)) as [Item];
    const elsewhere = `${bases["company"]}/member/invitation/${id}`;
    expect((await app.delete(elsewhere, as(anna))).status).to.equal(404);
    expect(
      (await app.delete(`${base}/member/invitation/${randomUUID()}`, as(anna))).status,
    ).to.equal(404);
    expect((await app.delete(`${base}/member/invitation/${id}`, as(root))).status).to.equal(403);
    expect((await app.delete(`${base}/member/invitation/${id}`, as(anna))).status).to.equal(200);
    const refused = await app.post("/user/invitation/accept", as(root, { token }));
    expect(codeOf(refused)).to.deep.equal([422, "link.invalid"]);
    for (const invitation of [token, "none"]) {
      const late = await register(`late-${count}`, { invitation });
      expect(codeOf(late)).to.deep.equal([422, "link.invalid"]);
      expect((late.body["errors"] as object[])[0]).to.include({ field: "invitation" });
    }
    const key = await app.deps.db("vault_key").where({ subject: `invitation-${id}` });
    await eventually(async () => {
      return (await app.deps.db("vault_key").where({ subject: `invitation-${id}` })).length === 0;
    });
    expect(key.length).to.be.at.most(1);
  });

  it("ends by itself after a week", async () => {
    const base = bases["team"]!;
    await invite(base);
    await linkTo();
    const now = () => new Date(Date.now() + 8 * 24 * 60 * 60_000);
    await sweepInvitations({ ...app.deps, now } as unknown as WorkerDeps);
    await eventually(async () => (await listed(base)).length === 0);
  });

  it("takes one address, or one alias, and not both or neither", async () => {
    const base = bases["team"]!;
    const bodies = [
      { role: "GUEST" },
      { role: "GUEST", email, userAlias: "root" },
      { role: "GUEST", email: [email, "spy@example.org"] },
      { role: "GUEST", email: `${email},spy@example.org` },
      { role: "OWNER", email },
    ];
    for (const body of bodies) {
      const { status } = await app.post(`${base}/member/invite`, as(anna, body));
      expect(status, JSON.stringify(body)).to.equal(422);
    }
    expect(await listed(base)).to.deep.equal([]);
  });

  it("sends one mail however often it is requested, and sixty an hour at most", async () => {
    const base = bases["team"]!;
    await invite(base);
    await linkTo();
    await invite(base);
    await invite(base, `other-${email}`);
    await linkTo(`other-${email}`);
    expect(mailbox.to(email)).to.have.length(1);
    await app.deps.counters.set(`invite:${anna.id}`, 60, 3_600);
    expect(codeOf(await invite(base, `third-${email}`))).to.deep.equal([
      429,
      "invitation.limit_exceeded",
    ]);
  });

  it("is accepted on its page, by who registers there or is logged in", async () => {
    const base = bases["project"]!;
    await invite(base);
    const at = `/account/invitation?token=${await linkTo()}`;
    const visitor = browser(app.url);
    const form = await visitor.open(at);
    expect(form.text).to.contain("Create an account to join");
    const fields = { alias: `page-${count}`, email, password };
    const done = await visitor.submit(form, "/account/invitation", fields);
    expect(done.text).to.contain("You are a member now");
    expect(await roleIn(base, `page-${count}`)).to.equal("DEVELOPER");

    const second = `second-${email}`;
    await invite(base, second);
    const bob = await app.givenUser(`bob-${count}`);
    const known = browser(app.url);
    await known.logIn(bob);
    const join = await known.open(`/account/invitation?token=${await linkTo(second)}`);
    const joined = await known.submit(join, "/account/invitation");
    expect(joined.text).to.contain("You are a member now");
    expect(await roleIn(base, bob.alias)).to.equal("DEVELOPER");
  });
});
