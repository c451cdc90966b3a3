import { expect } from "chai";
import { startTestApp } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { type Browser, browser } from "../../../support/client/browser.ts";
import { peopleDn, reader, startSlapd, suffix } from "../../../support/client/slapd.ts";
import {
  aliasIn,
  change,
  connectionOf,
  openLoginPages,
  switchConnection,
  whoByConsoleToken,
} from "../../../support/client/sso.ts";
import { needsProgram } from "../../../support/process/program.ts";

needsProgram("slapd", "slapadd");
const slapd = await startSlapd(
  ["anna", "boris", "clara", "dora", "emil", "fred", "gina", "hugo"].map((uid) => ({
    uid,
    password: `${uid}'s secret`,
    mail: `${uid}@dir.example.org`,
    givenName: `${uid.charAt(0).toUpperCase()}${uid.slice(1)}`,
    sn: "Person",
  })),
);
const app = await startTestApp({ reachesLoopback: true });
const root = await app.givenUser("root", { admin: true });
const body = {
  name: "Directory",
  url: `ldaps://127.0.0.1:${slapd.tlsPort}`,
  caCert: slapd.caCert,
  baseDn: peopleDn,
  bindDn: reader.dn,
  bindPassword: reader.password,
  userFilter: "(uid={login})",
};
const uuid = await connectionOf(app, root, "ldap", body);
const at = `/login/ldap/${uuid}`;
beforeEach(() => openLoginPages(app, root));

const logIn = async (
  visitor: Browser,
  login: string,
  password = `${login}'s secret`,
  path = at,
) => {
  const page = await visitor.open(`${path}?returnTo=/console`);
  return page.status === 200 ? visitor.submit(page, path, { login, password }) : page;
};
const basic = (login: string, password: string) =>
  app.post("/user/settings/access-token/create", {
    headers: { authorization: basicAuth(login, password) },
    body: { name: `${Math.random()}`, scopes: ["USER_READ"] },
  });

describe("a login by LDAP", () => {
  it("makes an account at the first, ends in the console, and a token can be made there", async () => {
    const visitor = browser(app.url);
    const done = await logIn(visitor, "anna");
    expect([done.status, done.location], done.text).to.deep.equal([303, "/console"]);
    expect(await whoByConsoleToken(app, visitor)).to.include({
      username: "anna",
      email: "anna@dir.example.org",
      fullName: "Anna Person",
    });
    const again = browser(app.url);
    // However the name is written, it is the same person.
    await logIn(again, "ANNA", "anna's secret");
    expect(await aliasIn(again)).to.equal("anna");
  });

  for (const [login, password] of [
    ["anna", "wrong"],
    ["anna", ""],
    ["", "anna's secret"],
    ["nobody", "anna's secret"],
    ["*", "anna's secret"],
    ["a*", "anna's secret"],
    ["anna)(uid=*", "anna's secret"],
    ["x)(|(uid=anna", "anna's secret"],
    [reader.dn, reader.password],
  ] as const) {
    it(`is refused to ${JSON.stringify([login, password])}, always the same way`, async () => {
      const visitor = browser(app.url);
      const head = await app.head();
      const { status, text } = await logIn(visitor, login, password);
      expect(status).to.equal(403);
      expect(text).to.contain("Name and password do not match.");
      expect(await aliasIn(visitor)).to.equal(undefined);
      expect(await app.head()).to.equal(head);
    });
  }

  it("is open by Basic to who has an account by it: with the alias and the password there", async () => {
    expect((await basic("boris", "boris's secret")).status).to.equal(403);
    await logIn(browser(app.url), "boris");
    const made = await basic("boris", "boris's secret");
    expect(made.status, made.text).to.equal(200);
    const who = await app.get("/user/me", { token: String(made.body["token"]) });
    expect(who.body).to.include({ username: "boris" });
    for (const [login, password] of [
      ["boris", "anna's secret"],
      ["boris", ""],
      ["anna", "boris's secret"],
      ["root", "boris's secret"],
    ] as const) {
      expect((await basic(login, password)).status, `${login} ${password}`).to.equal(403);
    }
    await openLoginPages(app, root, { isEnableLdap: false });
    expect((await basic("boris", "boris's secret")).status).to.equal(403);
  });

  it("logs no blocked user in, at any entry point", async () => {
    const visitor = browser(app.url);
    await logIn(visitor, "clara");
    const { id } = await whoByConsoleToken(app, visitor);
    await app.post(`/admin/user/${id}/account/ban`, { token: root.token });
    expect((await logIn(browser(app.url), "clara")).status).to.equal(403);
    expect((await basic("clara", "clara's secret")).status).to.equal(403);
    expect(await aliasIn(visitor)).to.equal(undefined);
  });

  it("takes over no account by its e-mail, unless both sides proved it", async () => {
    await app.put("/user/change-email", {
      token: (await app.givenUser("victim")).token,
      body: { email: "dora@dir.example.org" },
    });
    const visitor = browser(app.url);
    const { status, text } = await logIn(visitor, "dora");
    expect(status).to.equal(403);
    expect(text).to.contain("account with your e-mail already");
    expect(await aliasIn(visitor)).to.equal(undefined);
  });

  it("is locked after too many wrong passwords, however the name is written", async () => {
    await change(app, root, "lock-account", { lockUser: true, maxAttempts: 4 });
    const written = ["emil", "EMIL", " emil ", "eMiL"];
    const tries = await Promise.all(written.map((name) => logIn(browser(app.url), name, "wrong")));
    expect(tries.every(({ status }) => status === 403)).to.equal(true);
    const right = await logIn(browser(app.url), "emil");
    expect(right.status).to.equal(403);
    expect(right.text).to.contain("locked");
    await change(app, root, "lock-account", { lockUser: true, maxAttempts: 1_000 });
  });
});

describe("the settings of logins by LDAP", () => {
  it("stop new accounts, not those that are there (disableLdapAuth)", async () => {
    await change(app, root, "auth-methods", { disableLdapAuth: true });
    const { status, text } = await logIn(browser(app.url), "fred");
    expect(status).to.equal(403);
    expect(text).to.contain("makes no new ones");
    expect((await logIn(browser(app.url), "anna")).location).to.equal("/console");
    await change(app, root, "auth-methods", { disableLdapAuth: false });
    expect((await logIn(browser(app.url), "fred")).location).to.equal("/console");
  });

  it("close the page (enableLdapLoginPage)", async () => {
    const visitor = browser(app.url);
    const link = `href="${at}?returnTo=`;
    const form = await visitor.open(at);
    expect((await visitor.open("/login?choose=1")).text).to.contain(link);
    await openLoginPages(app, root, { isEnableLdap: false });
    expect((await visitor.open("/login?choose=1")).text).not.to.contain(link);
    expect((await visitor.open(at)).status).to.equal(404);
    const fields = { login: "anna", password: "anna's secret" };
    expect((await visitor.submit(form, at, fields)).status).to.equal(404);
    expect(await aliasIn(visitor)).to.equal(undefined);
  });

  it("require an e-mail that was confirmed (enableEmailValidation)", async () => {
    const validation = { enableEmailValidation: true, userAutoConfirm: false };
    await change(app, root, "email-validation", validation);
    const visitor = browser(app.url);
    const { status, text } = await logIn(visitor, "hugo");
    await change(app, root, "email-validation", { enableEmailValidation: false });
    expect([status, text.includes("not confirmed yet")]).to.deep.equal([403, true]);
    expect(await aliasIn(visitor)).to.equal(undefined);
  });

  it("close Basic with the connection, and with another way to distinguish people", async () => {
    await logIn(browser(app.url), "gina");
    const opens = async () => (await basic("gina", "gina's secret")).status === 200;
    expect(await opens()).to.equal(true);
    const as = { token: root.token };
    await switchConnection(app, root, { kind: "ldap", uuid }, false);
    expect(await opens()).to.equal(false);
    await switchConnection(app, root, { kind: "ldap", uuid }, true);
    // The same entry is found by the same id in the wider tree, where it need not be the same person's.
    await app.put(`/admin/ldap/${uuid}`, { ...as, body: { ...body, baseDn: suffix } });
    expect(await opens()).to.equal(false);
    await app.put(`/admin/ldap/${uuid}`, { ...as, body });
    expect(await opens()).to.equal(true);
  });

  it("lead straight to the page when it is the default (defaultLoginPage)", async () => {
    await openLoginPages(app, root, { loginPageUrl: "LDAP" });
    const { location } = await browser(app.url).open("/login?returnTo=/console");
    expect(location).to.match(new RegExp(`^${at}\\?returnTo=`));
  });
});

describe("a directory that is out of order", () => {
  it("is said to be so, for a while, and lets other logins go on", async () => {
    const broken = { ...body, url: "ldap://127.0.0.1:1", plaintext: true, caCert: "" };
    const other = await connectionOf(app, root, "ldap", broken);
    const path = `/login/ldap/${other}`;
    const { status, text } = await logIn(browser(app.url), "anna", "anna's secret", path);
    expect(status).to.equal(503);
    expect(text).to.contain("does not answer");
    expect((await basic("root", root.password)).status).to.equal(200);
    expect((await basic("root", "wrong password")).status).to.equal(403);
    expect((await logIn(browser(app.url), "gina")).location).to.equal("/console");
    await switchConnection(app, root, { kind: "ldap", uuid: other }, false);
  });
});
