import { expect } from "chai";
import { recoveryStream } from "../../../../src/events/user/recovery.ts";
import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { startMailbox } from "../../../support/app/mailbox.ts";
import { browser } from "../../../support/client/browser.ts";

const mailbox = await startMailbox();
const app = await startTestApp({ workers: true, smtpUrl: mailbox.url, cheapPasswords: true });
const root = await app.givenUser("root", { admin: true });
const password = "correct horse battery";
let alias: string;
let email: string;
let count = 0;

const setting = async (group: string, body: unknown) => {
  const { status, text } = await app.post(`/admin/settings/${group}`, { token: root.token, body });
  expect(status, text).to.equal(200);
};
const validating = (enableEmailValidation: boolean, userAutoConfirm = false) =>
  setting("email-validation", { enableEmailValidation, userAutoConfirm });

beforeEach(async () => {
  count += 1;
  alias = `anna-${count}`;
  email = `${alias}@example.org`;
  // Everything comes from one address here, and is meant to.
  await app.deps.counters.delete("anonymous-ask:127.0.0.1");
  await app.deps.counters.delete("anonymous-link:127.0.0.1");
  await app.deps.counters.delete("anonymous-register:127.0.0.1");
  await validating(true);
});

const register = (over: object = {}) =>
  app.post("/user/register", { body: { email, password, alias, ...over } });
const basic = (login = alias, secret = password) => ({
  headers: { authorization: basicAuth(login, secret) },
});
const newToken = (login = alias, secret = password) =>
  app.post("/user/settings/access-token/create", {
    ...basic(login, secret),
    body: { name: `t${Math.random()}`, scopes: ["USER_READ", "USER_WRITE"] },
  });
const confirm = (token: unknown) =>
  app.post("/user/email-confirmation/confirm", { body: { token } });
const linkTo = (path: string, address = email) => mailbox.linkTo(address, `/account/${path}`);

/** A person who has proved the address. */
async function confirmed(): Promise<void> {
  expect((await register()).status).to.equal(200);
  expect((await confirm(await linkTo("confirm-email"))).status).to.equal(200);
}

describe("registering oneself", () => {
  it("opens nothing before the e-mail is confirmed, by a link that works once", async () => {
    const made = await register();
    expect([made.status, made.body["username"]], made.text).to.deep.equal([200, alias]);
    expect(codeOf(await newToken())).to.deep.equal([403, "auth.unconfirmed"]);
    expect(codeOf(await newToken(alias, "wrong password"))[1]).to.equal("auth.credentials_invalid");
    const page = await browser(app.url).logIn({ alias, password });
    expect(page.status).to.equal(403);
    expect(page.text).to.contain("not confirmed yet");

    const token = await linkTo("confirm-email");
    const other = `${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`;
    expect(codeOf(await confirm(other)).at(0)).to.equal(422);
    expect((await confirm(token)).status).to.equal(200);
    expect((await newToken()).status).to.equal(200);
    expect(codeOf(await confirm(token))).to.deep.equal([422, "link.invalid"]);
  });

  it("needs no link when new users are confirmed automatically, or nothing is validated", async () => {
    await validating(true, true);
    await register();
    expect((await newToken()).status).to.equal(200);
    await validating(false);
    await register({ alias: `${alias}-2`, email: `second-${email}` });
    expect((await newToken(`${alias}-2`)).status).to.equal(200);
    expect(mailbox.to(email)).to.deep.equal([]);
  });

  it("lets in who is not confirmed once nothing is validated any more, and administrators always", async () => {
    await register();
    await validating(false);
    expect((await newToken()).status).to.equal(200);
    await validating(true);
    expect(codeOf(await newToken())).to.deep.equal([403, "auth.unconfirmed"]);
    const own = { token: root.token, body: { email: `root-${count}@example.org` } };
    expect((await app.put("/user/change-email", own)).status).to.equal(200);
    expect((await newToken("root", root.password)).status).to.equal(200);
  });

  it("is switched off by disableMailAuth", async () => {
    await setting("auth-methods", { disableMailAuth: true });
    try {
      expect(codeOf(await register())).to.deep.equal([403, "registration.disabled"]);
      const page = await browser(app.url).open("/login?choose=1");
      expect(page.text).not.to.contain("/account/register");
    } finally {
      await setting("auth-methods", { disableMailAuth: false });
    }
  });

  it("holds to the domains that are allowed, reserved aliases and names that are taken", async () => {
    await setting("email-validation", {
      enableDomainValidation: true,
      enableWhiteList: true,
      whiteListDomains: ["corp.example"],
    });
    expect(codeOf(await register())).to.deep.equal([422, "email.domain_forbidden"]);
    await setting("email-validation", { enableDomainValidation: false });
    expect(codeOf(await register({ alias: "me" }))[0]).to.equal(422);
    expect((await register()).status).to.equal(200);
    expect(codeOf(await register({ email: `x-${email}` }))).to.deep.equal([422, "alias.taken"]);
    expect(codeOf(await register({ alias: `${alias}-x` }))).to.deep.equal([422, "email.taken"]);
  });

  it("makes nobody an administrator, whatever else is sent", async () => {
    await validating(false);
    const more = { admin: true, isAdmin: true, confirmed: true, id: root.id, userId: root.id };
    const made = await register(more);
    expect(made.body["id"]).not.to.equal(root.id);
    const token = String((await newToken()).body["token"]);
    expect(codeOf(await app.get("/admin/user", { token }))).to.deep.equal([
      403,
      "auth.admin_required",
    ]);
  });

  it("is bounded for one network", async () => {
    await app.deps.counters.set("anonymous-register:127.0.0.1", 30, 3_600);
    const { status, body, headers } = await register();
    expect([status, body["code"]]).to.deep.equal([429, "anonymous.limit_exceeded"]);
    expect(Number(headers.get("retry-after"))).to.be.greaterThan(0);
  });
});

describe("a changed e-mail", () => {
  it("is confirmed again, also when new users are confirmed automatically", async () => {
    await confirmed();
    await validating(true, true);
    const token = String((await newToken()).body["token"]);
    const next = `next-${email}`;
    expect((await app.put("/user/change-email", { token, body: { email: next } })).status).to.equal(
      200,
    );
    expect(codeOf(await newToken())).to.deep.equal([403, "auth.unconfirmed"]);
    // The token stays valid: it was given to a user who had proved their identity.
    expect((await app.get("/user/me", { token })).body["email"]).to.equal(next);
    await confirm(await linkTo("confirm-email", next));
    expect((await newToken()).status).to.equal(200);
  });
});

describe("POST /user/email-confirmation", () => {
  it("sends the link again, three times an hour at most, and the former one is over", async () => {
    await register();
    const first = await linkTo("confirm-email");
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const requested = await app.post("/user/email-confirmation", { body: { email } });
      expect([requested.status, requested.text]).to.deep.equal([200, ""]);
    }
    await eventually(() => mailbox.to(email).length === 4);
    expect(codeOf(await confirm(first))).to.deep.equal([422, "link.invalid"]);
    // The newest opens, and no other; mails may come in another order than they were sent.
    const tokens = mailbox.to(email).map(({ text = "" }) => /\?token=(\S+)/.exec(text)?.[1]);
    expect(new Set(tokens).size).to.equal(4);
    const answers = [];
    for (const token of tokens) answers.push((await confirm(token)).status);
    expect(answers.sort()).to.deep.equal([200, 422, 422, 422]);
  });
});

describe("a password reset", () => {
  const send = (address: unknown = email) =>
    app.post("/user/password-reset", { body: { email: address } });
  const reset = (token: unknown, secret = "another horse battery", again = secret) =>
    app.post("/user/password-reset/confirm", {
      body: { token, password: secret, passwordConfirm: again },
    });

  it("sets a new password once, ends sessions and leaves the old one worth nothing", async () => {
    await confirmed();
    const visitor = browser(app.url);
    await visitor.logIn({ alias, password });
    expect((await visitor.open("/console")).status).to.equal(200);

    await send(email.toUpperCase());
    const token = await linkTo("reset-password");
    expect(codeOf(await reset(token, "short"))[0]).to.equal(422);
    expect(codeOf(await reset(token, "long enough", "something else"))[0]).to.equal(422);
    expect((await reset(token)).status).to.equal(200);
    expect((await newToken()).status).to.equal(403);
    expect((await newToken(alias, "another horse battery")).status).to.equal(200);
    expect((await visitor.open("/console")).status).to.equal(303);
    expect(codeOf(await reset(token))).to.deep.equal([422, "link.invalid"]);
  });

  it("answers the same for an address that nobody has, and sends nothing there", async () => {
    await confirmed();
    const known = await send();
    const unknown = await send(`nobody-${email}`);
    expect([unknown.status, unknown.text]).to.deep.equal([known.status, known.text]);
    const head = (text: string) => app.deps.vault.digest("email", text);
    // Both are noted in the same way, so neither answer took another path.
    for (const address of [email, `nobody-${email}`]) {
      const events = [];
      for await (const event of app.deps.store.readStream(recoveryStream(head(address)))) {
        events.push(event.type);
      }
      expect(events).to.deep.equal(["PasswordResetAsked"]);
    }
    await linkTo("reset-password");
    expect(mailbox.to(`nobody-${email}`)).to.deep.equal([]);
  });

  it("takes one text and nothing else for an address", async () => {
    await confirmed();
    for (const value of [[email, "spy@example.org"], [email], { 0: email }, null, 5, true, ""]) {
      expect((await send(value)).status, JSON.stringify(value)).to.equal(422);
    }
    for (const text of [`${email},spy@example.org`, `${email}\r\nBcc: spy@example.org`]) {
      expect((await send(text)).status, text).to.equal(422);
    }
    for (const value of [["x"], { $ne: "" }, null]) {
      expect((await reset(value)).status, JSON.stringify(value)).to.equal(422);
    }
    const query = await app.post("/user/password-reset?email=spy@example.org", { body: { email } });
    expect(query.status).to.equal(200);
    await linkTo("reset-password");
    const resets = mailbox.to(email).filter(({ text = "" }) => text.includes("/reset-password"));
    expect(resets.map(({ recipients }) => recipients)).to.deep.equal([[email]]);
    expect(mailbox.to("spy@example.org")).to.deep.equal([]);
  });

  it("gives no way in for an address that is not proved, or of who is blocked", async () => {
    const made = await register();
    const first = await linkTo("confirm-email");
    await send();
    // Requests are handled in order: once this mail is there, the reset was refused.
    await app.post("/user/email-confirmation", { body: { email } });
    await eventually(() => mailbox.to(email).length === 2);
    const second = await linkTo("confirm-email");
    expect(second).not.to.equal(first);
    expect((await confirm(second)).status).to.equal(200);
    await send();
    const token = await linkTo("reset-password");
    expect(mailbox.to(email)).to.have.length(3);
    const ban = `/admin/user/${made.body["id"]}/account/ban`;
    await app.post(ban, { token: root.token, body: {} });
    expect(codeOf(await reset(token))).to.deep.equal([422, "link.invalid"]);
  });

  it("does not work by another user's link, a changed one, or after an hour", async () => {
    await confirmed();
    await send();
    const token = await linkTo("reset-password");
    const foreign = root.id.replaceAll("-", "") + token.slice(32);
    for (const wrong of [foreign, token.slice(0, 95), `${token}0`, "", "x".repeat(96)]) {
      expect(codeOf(await reset(wrong))).to.deep.equal([422, "link.invalid"]);
    }
    expect((await reset(token)).status).to.equal(200);
  });

  it("is a way in for who is locked out by the guesses of others", async () => {
    await confirmed();
    const { body } = await app.get(`/user/${alias}`, { token: root.token });
    const guess = () =>
      app.deps.lockout.guard({ account: String(body["id"]), ip: "198.51.100.9" }, async () => null);
    for (let n = 0; n < 10; n += 1) await guess();
    await expect(guess()).to.be.rejectedWith("locked");
    expect(codeOf(await newToken())).to.deep.equal([403, "auth.locked"]);
    await send();
    await reset(await linkTo("reset-password"));
    expect((await newToken(alias, "another horse battery")).status).to.equal(200);
    await expect(guess()).to.be.rejectedWith("locked");
  });

  it("may not bring an archived password back", async () => {
    await confirmed();
    await setting("archive-password", {
      enableArchiveUserPasswords: true,
      maxUserArchivedPasswords: 3,
    });
    await send();
    const token = await linkTo("reset-password");
    expect(codeOf(await reset(token, password))).to.deep.equal([422, "password.archived"]);
    expect((await reset(token)).status).to.equal(200);
    await setting("archive-password", { enableArchiveUserPasswords: false });
  });
});

describe("the pages of an account", () => {
  it("register, confirm and set a new password without a script", async () => {
    const visitor = browser(app.url);
    const form = await visitor.open("/account/register");
    const short = await visitor.submit(form, "/account/register", { alias, email, password: "x" });
    expect(short.status).to.equal(422);
    expect(short.text).to.contain(alias).and.not.to.contain('value="x"');
    const made = await visitor.submit(short, "/account/register", { alias, email, password });
    expect(made.text).to.contain("on its way");

    const token = await linkTo("confirm-email");
    const at = `/account/confirm-email?token=${token}`;
    // Programs that check links in mails open them: that alone changes nothing.
    await visitor.open(at);
    const page = await visitor.open(at);
    expect(page.headers.get("referrer-policy")).to.equal("same-origin");
    expect((await visitor.submit(page, "/account/confirm-email")).text).to.contain("is confirmed");
    expect((await visitor.submit(page, "/account/confirm-email")).status).to.equal(422);

    const forgot = await visitor.open("/account/forgot-password");
    await visitor.submit(forgot, "/account/forgot-password", { email });
    const link = await linkTo("reset-password");
    const reset = await visitor.open(`/account/reset-password?token=${link}`);
    const fields = { password: "yet another horse", passwordConfirm: "yet another horse" };
    const done = await visitor.submit(reset, "/account/reset-password", fields);
    expect(done.text).to.contain("Password set");
    expect((await newToken(alias, "yet another horse")).status).to.equal(200);
  });

  it("take no form from another site", async () => {
    const sent = await browser(app.url).post("/account/register", { alias, email, password });
    expect(sent.status).to.equal(403);
    expect((await app.get(`/user/${alias}`, { token: root.token })).status).to.equal(404);
  });

  it("show nothing of a token as markup", async () => {
    const page = await browser(app.url).open(
      `/account/confirm-email?token=${encodeURIComponent('"><script>alert(1)</script>')}`,
    );
    expect(page.text).not.to.contain("<script>");
  });
});
