import { expect } from "chai";
import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { startMailbox } from "../../../support/app/mailbox.ts";
import { browser } from "../../../support/client/browser.ts";

const mailbox = await startMailbox();
const app = await startTestApp({ workers: true, smtpUrl: mailbox.url, cheapPasswords: true });
const root = await app.givenUser("root", { admin: true });
const password = "correct horse battery";
let alias: string;
let email: string;
let count = 0;

before(async () => {
  const body = { enableEmailValidation: true, userAutoConfirm: false };
  const set = await app.post("/admin/settings/email-validation", { token: root.token, body });
  expect(set.status, set.text).to.equal(200);
});

beforeEach(async () => {
  count += 1;
  alias = `anna-${count}`;
  email = `${alias}@example.org`;
  // All requests of the tests come from one address.
  for (const what of ["ask", "link", "register"]) {
    await app.deps.counters.delete(`anonymous-${what}:127.0.0.1`);
  }
});

const register = (over: object = {}) =>
  app.post("/user/register", { body: { email, password, alias, ...over } });
const newToken = (login = alias, secret = password) =>
  app.post("/user/settings/access-token/create", {
    headers: {
      authorization: basicAuth(login, secret),
    },
    body: { name: `t${Math.random()}`, scopes: ["USER_READ", "USER_WRITE"] },
  });
const confirm = (token: unknown) =>
  app.post("/user/email-confirmation/confirm", { body: { token } });
const linkTo = (path: string, address = email) => mailbox.linkTo(address, `/account/${path}`);

describe("taking a changed e-mail back", () => {
  const thief = () => `thief-${email}`;
  const takeBack = (token: unknown) =>
    app.post("/user/email-change/take-back", { body: { token } });
  const requestReset = (address: string) =>
    app.post("/user/password-reset", { body: { email: address } });
  const reset = (token: string, otherTokens?: readonly unknown[]) => {
    const secret = "another horse battery";
    return app.post("/user/password-reset/confirm", {
      body: { token, otherTokens, password: secret, passwordConfirm: secret },
    });
  };

  /** An account whose e-mail was changed by another person, who has confirmed the new one. */
  async function stolen(): Promise<string> {
    expect((await register()).status).to.equal(200);
    expect((await confirm(await linkTo("confirm-email"))).status).to.equal(200);
    const token = String((await newToken()).body["token"]);
    const own = { token, body: { email: thief() } };
    expect((await app.put("/user/change-email", own)).status).to.equal(200);
    expect((await confirm(await linkTo("confirm-email", thief()))).status).to.equal(200);
    return token;
  }

  it("works once, by a link at the former address, and by a page", async () => {
    const token = await stolen();
    const link = await linkTo("take-back-email");
    expect(mailbox.to(thief()).filter(({ text }) => text?.includes("take-back"))).to.deep.equal([]);
    expect(codeOf(await takeBack(`${link.slice(0, -1)}x`))).to.deep.equal([422, "link.invalid"]);
    const visitor = browser(app.url);
    const page = await visitor.open(`/account/take-back-email?token=${link}`);
    expect((await app.get("/user/me", { token })).body["email"]).to.equal(thief());
    const done = await visitor.submit(page, "/account/take-back-email");
    expect(done.text).to.contain("is yours again");
    expect((await app.get("/user/me", { token })).body["email"]).to.equal(email);
    expect(codeOf(await takeBack(link))).to.deep.equal([422, "link.invalid"]);
    // The address is free again for others.
    expect((await register({ alias: `${alias}-x`, email: thief() })).status).to.equal(200);
  });

  it("leaves the former address to nobody else in the meantime", async () => {
    await stolen();
    const other = await register({ alias: `${alias}-x` });
    expect(codeOf(other)).to.deep.equal([422, "email.taken"]);
  });

  it("comes before a new password: both addresses are needed", async () => {
    await stolen();
    await requestReset(thief());
    const [mine, theirs] = [
      await linkTo("reset-password-with-several"),
      await linkTo("reset-password-with-several", thief()),
    ];
    for (const more of [undefined, [], [theirs]]) {
      expect(codeOf(await reset(theirs, more))).to.deep.equal([422, "link.more_needed"]);
    }
    expect(codeOf(await reset(theirs, Array(11).fill(mine)))[0]).to.equal(422);
    expect(codeOf(await reset(theirs, [["x"]]))[0]).to.equal(422);
    const foreign = root.id.replaceAll("-", "") + mine.slice(32);
    expect(codeOf(await reset(theirs, [foreign]))).to.deep.equal([422, "link.invalid"]);
    expect((await newToken()).status).to.equal(200);
    expect((await reset(theirs, [mine])).status).to.equal(200);
    expect((await newToken(alias, "another horse battery")).status).to.equal(200);
  });

  it("ends the links for a new password, and then one address is enough", async () => {
    await stolen();
    await requestReset(thief());
    const theirs = await linkTo("reset-password-with-several", thief());
    const mine = await linkTo("reset-password-with-several");
    await takeBack(await linkTo("take-back-email"));
    expect(codeOf(await reset(theirs, [mine]))).to.deep.equal([422, "link.invalid"]);
    await requestReset(email);
    expect((await reset(await linkTo("reset-password?"))).status).to.equal(200);
  });

  it("takes the links of several mails on one page", async () => {
    await stolen();
    await requestReset(thief());
    const theirs = await linkTo("reset-password-with-several", thief());
    const mine = await linkTo("reset-password-with-several");
    const visitor = browser(app.url);
    const path = "/account/reset-password-with-several";
    const page = await visitor.open(`${path}?token=${theirs}`);
    const secret = { password: "yet another horse", passwordConfirm: "yet another horse" };
    const alone = await visitor.submit(page, path, { ...secret, links: "" });
    expect([alone.status, alone.text.includes("all 2 mails")]).to.deep.equal([422, true]);
    const links = `see ${app.url}${path}?token=${mine} there`;
    expect((await visitor.submit(alone, path, { ...secret, links })).text).to.contain(
      "Password set",
    );
  });
});
