import { expect } from "chai";

import { startHttp } from "../../src/http/role.ts";
import { type Send, sender, startTestApp, type TestUser } from "../support/app/app.ts";
import {
  allowTwoFactor,
  basicOf,
  codeAt,
  enrolled,
  nextStep,
  wrongCode,
} from "../support/app/two-factor.ts";
import { browser } from "../support/client/browser.ts";

/**
 * Account recovery and second factors: codes raced, replayed and guessed, recovery codes of another user,
 * lists and objects where a text is expected.
 */
const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));

const app = await startTestApp({ cheapPasswords: true });
const other = await startHttp(app.platform);
closing.push(other.close);
/** The same service six minutes from now. */
const later = await startHttp({
  ...app.platform,
  now: () => new Date(Date.now() + 6 * 60_000),
});
closing.push(later.close);
const root = await app.givenUser("root", { admin: true });
let anna: TestUser;
let counter = 0;
beforeEach(async () => {
  counter += 1;
  anna = await app.givenUser(`anna-${counter}`);
  await allowTwoFactor(app, root.token);
});

let names = 0;
const createAt = (url: string, user: TestUser, code: string) => {
  names += 1;
  const send: Send = {
    headers: { ...basicOf(user), "x-otp": code },
    body: { name: `token ${names}`, scopes: ["USER_READ"] },
  };
  return sender(url)("POST", "/user/settings/access-token/create", send);
};
const create = (user: TestUser, code: string) => createAt(app.url, user, code);
const succeeded = (answers: readonly Readonly<{ status: number }>[]) =>
  answers.filter(({ status }) => status === 200 || status === 303).length;

async function onCodePage(user: TestUser) {
  const visitor = browser(app.url);
  expect((await visitor.logIn(user)).location).to.equal("/login/code");
  return { visitor, page: await visitor.open("/login/code") };
}

describe("a code of the second factor", () => {
  it("is good once, at every entry point", async () => {
    const { secret } = await enrolled(app, anna);
    const code = codeAt(secret);
    expect((await create(anna, code)).status).to.equal(200);
    expect((await create(anna, code)).body["code"]).to.equal("auth.otp_wrong");
    const { visitor, page } = await onCodePage(anna);
    expect((await visitor.submit(page, "/login/code", { code })).status).to.equal(403);
    const disable = { token: anna.token, body: { code } };
    expect((await app.post("/user/settings/two-factor/disable", disable)).status).to.equal(403);
  });

  it("is not good any more once a newer one was used", async () => {
    const { secret } = await enrolled(app, anna);
    expect((await create(anna, codeAt(secret, Date.now() + 30_000))).status).to.equal(200);
    expect((await create(anna, codeAt(secret))).body["code"]).to.equal("auth.otp_wrong");
  });

  it("is accepted once when many requests use it at once, in two processes", async () => {
    const { secret } = await enrolled(app, anna);
    const code = codeAt(secret);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => createAt(n % 2 ? app.url : other.url, anna, code)),
    );
    expect(succeeded(answers)).to.equal(1);
  });

  it("opens one session when one browser sends it many times at once", async () => {
    const { secret } = await enrolled(app, anna);
    const { visitor, page } = await onCodePage(anna);
    const code = codeAt(secret);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => visitor.submit(page, "/login/code", { code })),
    );
    expect(answers.filter(({ location }) => location === "/console")).to.have.length(1);
    expect(await app.deps.db("session").where({ user_id: anna.id })).to.have.length(1);
  });

  it("cannot be guessed: tries are counted with the right password too, and without lockout", async () => {
    const { secret } = await enrolled(app, anna);
    const rules = { maxAttempts: 3, timeToLockUser: 5, timeToCountFailUserLoginAttempts: 300 };
    const lock = (lockUser: boolean) =>
      app.post("/admin/settings/lock-account", {
        token: root.token,
        body: { lockUser, ...rules },
      });
    await lock(false);
    for (let n = 0; n < 3; n += 1) {
      expect((await create(anna, wrongCode(secret))).body["code"]).to.equal("auth.otp_wrong");
      // The right password in between begins no new count.
      expect((await create(anna, "")).body["code"]).to.equal("auth.otp_required");
    }
    expect((await create(anna, codeAt(secret))).body["code"]).to.equal("auth.locked");
    const { visitor, page } = await onCodePage(anna);
    const locked = await visitor.submit(page, "/login/code", { code: codeAt(secret) });
    expect(locked.status).to.equal(403);
    expect(locked.text).to.contain("locked");
  });

  it("is required only after the right password, so that nobody learns who has one", async () => {
    const { secret } = await enrolled(app, anna);
    const wrong = { ...anna, password: "a wrong password" };
    const [one, nobody] = await Promise.all([
      create(wrong, codeAt(secret)),
      create({ ...wrong, alias: "nobody-at-all" }, codeAt(secret)),
    ]);
    expect([one.status, one.body["code"]]).to.deep.equal([403, "auth.credentials_invalid"]);
    expect([nobody.status, nobody.body["code"]]).to.deep.equal([403, "auth.credentials_invalid"]);
  });
});

describe("a recovery code", () => {
  it("is good once, also when it comes many times at once", async () => {
    const { recoveryCodes } = await enrolled(app, anna);
    const [first = "", second = ""] = recoveryCodes;
    expect((await create(anna, first)).status).to.equal(200);
    expect((await create(anna, first)).body["code"]).to.equal("auth.otp_wrong");
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => createAt(n % 2 ? app.url : other.url, anna, second)),
    );
    expect(succeeded(answers)).to.equal(1);
  });

  it("is nothing for another user", async () => {
    const boris = await app.givenUser(`boris-${counter}`);
    const { recoveryCodes } = await enrolled(app, anna);
    const { secret } = await enrolled(app, boris);
    expect((await create(boris, recoveryCodes[0] ?? "")).body["code"]).to.equal("auth.otp_wrong");
    expect((await create(anna, codeAt(secret))).body["code"]).to.equal("auth.otp_wrong");
    expect((await create(anna, recoveryCodes[0] ?? "")).status).to.equal(200);
  });
});

describe("the step between password and code", () => {
  it("is nobody else's: a ticket that was changed, made up or is another's opens nothing", async () => {
    const boris = await app.givenUser(`boris-${counter}`);
    const { secret } = await enrolled(app, anna);
    const { visitor, page } = await onCodePage(anna);
    const ticket = visitor.cookies.get("ledgerforge-login") ?? "";
    const [content = "", seal = ""] = ticket.split(".");
    const claims = JSON.parse(Buffer.from(content, "base64url").toString());
    const forged = Buffer.from(JSON.stringify({ ...claims, userId: boris.id })).toString(
      "base64url",
    );
    for (const cookie of [`${forged}.${seal}`, forged, `${content}.`, "x", ".", `${ticket}x`]) {
      visitor.cookies.set("ledgerforge-login", cookie);
      const { location } = await visitor.submit(page, "/login/code", { code: codeAt(secret) });
      expect(location, cookie).to.equal("/login");
    }
  });

  it("waits five minutes for the code, and no longer", async () => {
    const { recoveryCodes } = await enrolled(app, anna);
    const { visitor } = await onCodePage(anna);
    const afterwards = browser(later.url);
    for (const [name, value] of visitor.cookies) afterwards.cookies.set(name, value);
    expect((await afterwards.open("/login/code")).location).to.equal("/login");
    const page = await visitor.open("/login/code");
    const [code = ""] = recoveryCodes;
    const late = await afterwards.submit(page, "/login/code", { code });
    expect(late.location).to.equal("/login");
    expect((await visitor.submit(page, "/login/code", { code })).location).to.equal("/console");
  });

  it("takes no code of a second factor that is only being set up", async () => {
    const { secret } = await enrolled(app, anna);
    const { visitor, page } = await onCodePage(anna);
    const path = "/user/settings/two-factor";
    const { token, password } = anna;
    await app.post(`${path}/disable`, { token, body: { code: codeAt(secret) } });
    const begun = await app.post(path, { token, body: { password } });
    const code = codeAt(String(begun.body["secret"]));
    expect((await visitor.submit(page, "/login/code", { code })).status).to.equal(403);
  });

  it("ends with a new password, and with a block", async () => {
    const { secret } = await enrolled(app, anna);
    const change = async () => {
      const password = "quite another password";
      const body = { password, passwordConfirm: password };
      await app.put(`/admin/user/${anna.alias}/change-password`, { token: root.token, body });
    };
    const ban = () => app.post(`/admin/user/${anna.id}/account/ban`, { token: root.token });
    const { visitor, page } = await onCodePage(anna);
    await change();
    await visitor.submit(page, "/login/code", { code: codeAt(secret) });
    expect((await visitor.open("/console")).status).to.equal(303);

    await nextStep(app);
    const again = await onCodePage({ ...anna, password: "quite another password" });
    await ban();
    await again.visitor.submit(again.page, "/login/code", { code: codeAt(secret) });
    expect((await again.visitor.open("/console")).status).to.equal(303);
  });
});

describe("where a text is expected", () => {
  const oddities: readonly unknown[] = [
    ["a"],
    [],
    {},
    { $ne: null },
    null,
    5,
    true,
    [["a"]],
    { toString: "x" },
  ];

  it("nothing else is taken for an account's credentials and codes", async () => {
    const { token } = anna;
    const cases: readonly (readonly ["post" | "put", string, string])[] = [
      ["post", "/user/settings/two-factor", "password"],
      ["post", "/user/settings/two-factor/enable", "code"],
      ["post", "/user/settings/two-factor/recovery-code", "code"],
      ["post", "/user/settings/two-factor/disable", "code"],
      ["put", "/user/change-email", "email"],
      ["put", "/user/change-username", "username"],
    ];
    for (const [method, path, field] of cases) {
      for (const odd of oddities) {
        const head = await app.head();
        const answer = await app[method](path, { token, body: { [field]: odd } });
        expect(answer.status, `${path} ${JSON.stringify(odd)}`).to.equal(422);
        expect(await app.head()).to.equal(head);
      }
    }
  });

  it("two e-mails are none", async () => {
    const email = [`${anna.alias}@example.org`, "evil@example.org"];
    for (const body of [{ email }, { email: { 0: email[0], 1: email[1] } }]) {
      const { status } = await app.put("/user/change-email", { token: anna.token, body });
      expect(status).to.equal(422);
    }
    const visitor = browser(app.url);
    const page = await visitor.open("/login");
    for (const fields of [
      { login: [anna.alias, root.alias], password: anna.password },
      { login: anna.alias, password: [anna.password, "x"] },
    ]) {
      expect((await visitor.submit(page, "/login", fields)).status).to.equal(422);
    }
  });
});
