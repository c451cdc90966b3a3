import { expect } from "chai";

import { startHttp } from "../../../../src/http/role.ts";
import { findUserById } from "../../../../src/projections/user/user.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { type Browser, browser } from "../../../support/client/browser.ts";

const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));

const app = await startTestApp();
const other = await startHttp(app.platform);
closing.push(other.close);
const root = await app.givenUser("root", { admin: true });
let anna: TestUser;
let counter = 0;
beforeEach(async () => {
  counter += 1;
  anna = await app.givenUser(`anna-${counter}`);
});

const setting = async (group: string, body: unknown) => {
  const { status, text } = await app.post(`/admin/settings/${group}`, { token: root.token, body });
  expect(status, text).to.equal(200);
};
const isIn = async (visitor: Browser) => (await visitor.open("/console")).status === 200;
const cookieOf = (visitor: Browser) => visitor.cookies.get("ledgerforge-session");

async function loggedIn(user: TestUser, url = app.url): Promise<Browser> {
  const visitor = browser(url);
  const { status, text } = await visitor.logIn(user);
  expect(status, text).to.equal(303);
  return visitor;
}

describe("the login page", () => {
  it("is the redirect target of pages that need a session, and leads back to them", async () => {
    const visitor = browser(app.url);
    const sent = await visitor.open("/console?x=1");
    expect([sent.status, sent.location]).to.deep.equal([303, "/login?returnTo=%2Fconsole%3Fx%3D1"]);
    const page = await visitor.open(sent.location);
    const done = await visitor.submit(page, "/login", {
      login: anna.alias,
      password: anna.password,
    });
    expect([done.status, done.location]).to.deep.equal([303, "/console?x=1"]);
    expect((await visitor.open(done.location)).text).to.contain(anna.alias);
  });

  it("takes the e-mail as well, in any case", async () => {
    const visitor = browser(app.url);
    const email = `${anna.alias}@EXAMPLE.org`;
    expect((await visitor.logIn({ ...anna, alias: email })).status).to.equal(303);
  });

  it("sets a cookie that no script reads and no other site sends", async () => {
    const { headers } = await browser(app.url).logIn(anna);
    const [session] = headers.getSetCookie().filter((line) => /-session=/.test(line));
    expect(session).to.match(/; path=\/; samesite=lax; httponly$/i);
    expect(session).not.to.match(/expires|max-age|secure/i);
  });

  it("keeps a cookie of its host alone where the address is https", async () => {
    const publicUrl = "https://forge.example/base";
    const tls = await startHttp({
      ...app.platform,
      config: { ...app.platform.config, publicUrl },
    });
    closing.push(tls.close);
    const visitor = browser(tls.url);
    const page = await visitor.open("/login");
    expect(page.text).to.contain('action="/base/login"');
    const fields = { login: anna.alias, password: anna.password };
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
    // The browser knows the public address, the connection from the proxy another.
    const headers = { origin: "https://forge.example" };
    const done = await visitor.post("/login", { ...fields, csrf }, headers);
    expect([done.status, done.location]).to.deep.equal([303, "/base/console"]);
    const [session] = done.headers.getSetCookie().filter((line) => /session=/.test(line));
    expect(session).to.match(/^__Host-ledgerforge-session=[^;]+; path=\/; .*secure/i);
  });

  it("answers the same to an unknown name, a wrong password and a blocked user", async () => {
    await app.post(`/admin/user/${anna.id}/account/ban`, { token: root.token });
    const shown = await Promise.all(
      [
        { alias: "nobody-at-all", password: "a wrong password" },
        { alias: root.alias, password: "a wrong password" },
        anna,
      ].map((who) => browser(app.url).logIn(who)),
    );
    const bare = shown.map(({ status, text }) => [
      status,
      text.replaceAll(/value="[^"]*"/g, "value"),
    ]);
    expect(bare[0]).to.deep.equal(bare[1]);
    expect(bare[0]).to.deep.equal(bare[2]);
    expect(bare[0]?.[0]).to.equal(403);
  });

  it("shows what was typed again, harmlessly, but no password", async () => {
    const { text } = await browser(app.url).logIn({ alias: '"><script>x', password: "secret-x" });
    expect(text).to.contain("&quot;&gt;&lt;script&gt;x").and.not.contain("<script>");
    expect(text).not.to.contain("secret-x");
  });

  it("is locked by wrong passwords together with Basic", async () => {
    await setting("lock-account", { lockUser: true, maxAttempts: 3 });
    const guess = () => browser(app.url).logIn({ ...anna, password: "a wrong password" });
    for (let n = 0; n < 3; n += 1) await guess();
    const right = await browser(app.url).logIn(anna);
    expect(right.status).to.equal(403);
    expect(right.text).to.contain("locked");
    const basic = Buffer.from(`${anna.alias}:${anna.password}`).toString("base64");
    const created = await app.post("/user/settings/access-token/create", {
      headers: { authorization: `Basic ${basic}` },
      body: { name: "x", scopes: ["USER_READ"] },
    });
    expect(created.body["code"]).to.equal("auth.locked");
    await setting("lock-account", { lockUser: true, maxAttempts: 10 });
  });

  it("counts towards the limit of an address, and of a user after it", async () => {
    await setting("api-limit", { enableApiLimit: true, userApiCountLimit: 1_000 });
    const visitor = await loggedIn(anna);
    const left = async () =>
      Number((await visitor.open("/console")).headers.get("ratelimit-remaining"));
    expect(await left()).to.equal((await left()) + 1);
    await setting("api-limit", { enableApiLimit: false, userApiCountLimit: 1_000 });
  });

  it("is not there for passwords when the administrator closed it", async () => {
    const all = { isEnableLdap: false, isEnableSaml: false, isEnableOidc: false };
    const visitor = browser(app.url);
    const page = await visitor.open("/login");
    await setting("login-page", { loginPageUrl: "BASIC", isEnableBasic: false, ...all });
    expect((await browser(app.url).open("/login")).text).not.to.contain("<form");
    const fields = { login: anna.alias, password: anna.password };
    const tried = await visitor.submit(page, "/login", fields);
    expect(tried.status).to.equal(403);
    expect(await isIn(visitor)).to.equal(false);
    await setting("login-page", { loginPageUrl: "BASIC", isEnableBasic: true, ...all });
  });

  it("is passed by who is logged in", async () => {
    const visitor = await loggedIn(anna);
    expect((await visitor.open("/login?returnTo=/console?y")).location).to.equal("/console?y");
  });
});

describe("a session", () => {
  it("is a new one at each login, whatever cookie the browser came with", async () => {
    const visitor = browser(app.url);
    visitor.cookies.set("ledgerforge-session", "planted-by-somebody");
    await visitor.logIn(anna);
    const first = cookieOf(visitor);
    expect(first).not.to.equal("planted-by-somebody");
    const again = browser(app.url);
    await again.logIn(anna);
    expect(cookieOf(again)).not.to.equal(first);
  });

  it("ends when a user logs in anew in the same browser", async () => {
    const visitor = await loggedIn(anna);
    const before = browser(app.url);
    for (const [name, value] of visitor.cookies) before.cookies.set(name, value);
    const boris = await app.givenUser(`boris-${counter}`);
    const page = await visitor.open("/console");
    const [, csrf = ""] = /name="csrf" value="([^"]+)"/.exec(page.text) ?? [];
    await visitor.post("/login", { csrf, login: boris.alias, password: boris.password });
    expect((await visitor.open("/console")).text).to.contain(`<dd>${boris.alias}</dd>`);
    expect(await isIn(before)).to.equal(false);
  });

  it("is kept as a hash alone, and its beginning and end are in the log", async () => {
    const visitor = await loggedIn(anna);
    const cookie = cookieOf(visitor) ?? "";
    const types: string[] = [];
    let log = "";
    for await (const event of app.deps.store.readAll()) {
      if (!event.stream.startsWith("session-")) continue;
      log += JSON.stringify({ ...event, position: 0, revision: 0 });
      if (event.metadata.actor.userId === anna.id) types.push(event.type);
    }
    expect(types).to.deep.equal(["SessionOpened"]);
    expect(log).not.to.contain(cookie);
  });

  it("ends with the logout, in every process", async () => {
    const visitor = await loggedIn(anna);
    const stolen = browser(other.url);
    stolen.cookies.set("ledgerforge-session", cookieOf(visitor) ?? "");
    expect(await isIn(stolen)).to.equal(true);
    const page = await visitor.open("/console");
    expect((await visitor.submit(page, "/logout")).location).to.equal("/login?choose=1");
    expect(cookieOf(visitor)).to.equal(undefined);
    expect(await isIn(stolen)).to.equal(false);
  });

  it("ends with a block, and does not come back with its end", async () => {
    const [here, there] = [await loggedIn(anna), await loggedIn(anna, other.url)];
    const account = `/admin/user/${anna.id}/account`;
    await app.post(`${account}/ban`, { token: root.token });
    expect([await isIn(here), await isIn(there)]).to.deep.equal([false, false]);
    await app.post(`${account}/unban`, { token: root.token });
    expect([await isIn(here), await isIn(there)]).to.deep.equal([false, false]);
  });

  it("opens nothing for who is blocked, even if it were still there", async () => {
    const visitor = await loggedIn(anna);
    const rows = await app.deps.db("session").where("user_id", anna.id);
    await app.post(`/admin/user/${anna.id}/account/ban`, { token: root.token });
    await app.deps.db("session").insert(rows);
    expect(await isIn(visitor)).to.equal(false);
  });

  it("ends with a new password, one's own or an administrator's", async () => {
    const [here, there] = [await loggedIn(anna), await loggedIn(anna, other.url)];
    const password = "quite another password";
    const body = { oldPassword: anna.password, password, passwordConfirm: password };
    expect((await app.put("/user/change-password", { token: anna.token, body })).status).to.equal(
      200,
    );
    expect([await isIn(here), await isIn(there)]).to.deep.equal([false, false]);
  });

  it("is opened by no password that was changed while it was checked", async () => {
    const before = await findUserById(app.deps.db, anna.id);
    const attempts = Array.from({ length: 4 }, () => loggedInOrNot(anna));
    const password = "quite another password";
    const body = { password, passwordConfirm: password };
    const at = `/admin/user/${anna.alias}/change-password`;
    const changed = app.put(at, { token: root.token, body });
    const visitors = await Promise.all(attempts);
    expect((await changed).status).to.equal(200);
    expect((await findUserById(app.deps.db, anna.id))?.password_hash).not.to.equal(
      before?.password_hash,
    );
    for (const visitor of visitors) expect(await isIn(visitor)).to.equal(false);
  });

  it("ends when it was idle for as long as the setting says", async () => {
    await setting("session", { sessionMaxInactiveIntervalMinutes: 5 });
    const visitor = await loggedIn(anna);
    await isIn(visitor);
    const agedBy = async (minutes: number) => {
      const past = new Date(Date.now() - minutes * 60_000);
      await app.deps.db("session").where({ user_id: anna.id }).update({ opened_at: past });
      await app.deps.db("public.session_use").update({ seen_at: past });
    };
    await agedBy(4);
    expect(await isIn(visitor)).to.equal(true);
    await agedBy(5.1);
    expect(await isIn(visitor)).to.equal(false);
  });

  it("opens no other operation than pages", async () => {
    const visitor = await loggedIn(anna);
    expect((await visitor.open("/user/me")).status).to.equal(403);
  });
});

async function loggedInOrNot(user: TestUser): Promise<Browser> {
  const visitor = browser(app.url);
  await visitor.logIn(user);
  return visitor;
}
