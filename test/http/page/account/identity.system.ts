import { expect } from "chai";

import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { type Browser, browser } from "../../../support/client/browser.ts";
import { oidcProvider, startServer } from "../../../support/client/oidc-provider.ts";
import { samlProvider } from "../../../support/client/saml-provider.ts";
import { peopleDn, reader, startSlapd } from "../../../support/client/slapd.ts";
import { aliasIn, connectionOf, openLoginPages } from "../../../support/client/sso.ts";
import { needsProgram } from "../../../support/process/program.ts";

needsProgram("slapd", "slapadd");
const server = await startServer();
const slapd = await startSlapd([
  { uid: "anna", password: "anna's secret", mail: "anna@example.org" },
  { uid: "boris", password: "boris' secret" },
]);
const app = await startTestApp({
  reachesLoopback: true,
  outboundAllow: [`127.0.0.1:${server.port}`],
});
const root = await app.givenUser("root", { admin: true });
const idp = await samlProvider();
const ldap = await connectionOf(app, root, "ldap", {
  name: "Directory",
  url: `ldap://127.0.0.1:${slapd.port}`,
  startTls: true,
  caCert: slapd.caCert,
  baseDn: peopleDn,
  bindDn: reader.dn,
  bindPassword: reader.password,
  userFilter: "(uid={login})",
});
const saml = await connectionOf(app, root, "saml", {
  name: "Acme",
  idpIssuer: idp.issuer,
  idpInitiatedSsoUrl: idp.ssoUrl,
  cert: idp.cert,
});
const client = { clientId: "forge", clientSecret: "a secret" };
const oidc = await connectionOf(app, root, "oidc", { name: "Op", issuer: server.url, ...client });
const op = oidcProvider(server, {
  id: "forge",
  secret: "a secret",
  redirectUris: [`${app.url}/login/oidc/${oidc}/callback`],
});
await openLoginPages(app, root);

const at = "/console/identity";
let counter = 0;
async function loggedIn(): Promise<Readonly<{ user: TestUser; visitor: Browser }>> {
  counter += 1;
  const user = await app.givenUser(`user-${counter}`);
  const visitor = browser(app.url);
  expect((await visitor.logIn(user)).status).to.equal(303);
  return { user, visitor };
}

/** Sends the form, and goes where the page behind it leads. */
async function press(visitor: Browser, kind: string, id: string, fields = {}) {
  const action = `${at}/${kind}/${id}`;
  return await visitor.submit(await visitor.open(at), action, fields);
}

const linkIn = (page: string): string =>
  (/class="button wide" href="([^"]*)"/.exec(page)?.[1] ?? "").replaceAll("&amp;", "&");

describe("connecting an identity to the account one is logged in to", () => {
  it("works with a directory, and its password opens the account then", async () => {
    const { user, visitor } = await loggedIn();
    expect(
      (await press(visitor, "ldap", ldap, { login: "anna", password: "wrong" })).status,
    ).to.equal(403);
    const fields = { login: "anna", password: "anna's secret" };
    expect((await press(visitor, "ldap", ldap, fields)).location).to.equal(at);
    expect((await visitor.open(at)).text).to.contain("Connected since");
    const fresh = browser(app.url);
    const path = `/login/ldap/${ldap}`;
    await fresh.submit(await fresh.open(path), path, fields);
    expect(await aliasIn(fresh)).to.equal(user.alias);
  });

  it("is refused for an identity that another account has", async () => {
    const [first, second] = [await loggedIn(), await loggedIn()];
    const fields = { login: "boris", password: "boris' secret" };
    await press(first.visitor, "ldap", ldap, fields);
    const { status, text } = await press(second.visitor, "ldap", ldap, fields);
    expect(status).to.equal(403);
    expect(text).to.contain("belongs to another account");
  });

  it("works with SAML, and the next login there opens the account", async () => {
    const { user, visitor } = await loggedIn();
    const own = `/login/saml/${saml}`;
    const target = { entityId: app.url + own, acsUrl: `${app.url}${own}/acs` };
    const metadata = (await visitor.open(`${own}/metadata`)).text;
    const attributes = { email: `${user.alias}@example.org` };
    const answered = async (who: Browser, url: string) => {
      const inResponseTo = await idp.requestOf(metadata, url);
      const said = { nameId: "anna", attributes, inResponseTo };
      const form = { SAMLResponse: await idp.answer(target, said) };
      const { location } = await browser(app.url).post(`${own}/acs`, form);
      return await who.open(location);
    };
    const link = linkIn((await press(visitor, "saml", saml)).text);
    expect((await answered(visitor, link)).location).to.equal(at);
    const fresh = browser(app.url);
    await answered(fresh, (await fresh.open(own)).location);
    expect(await aliasIn(fresh)).to.equal(user.alias);
  });

  it("works with OpenID Connect, but not for who logged in meanwhile", async () => {
    const { user, visitor } = await loggedIn();
    const sub = op.person({ email: "somebody@example.org" });
    const link = linkIn((await press(visitor, "oidc", oidc)).text);
    const callback = (await op.logIn(link, sub)).slice(app.url.length);
    const other = await loggedIn();
    const session = "ledgerforge-session";
    const mine = visitor.cookies.get(session) ?? "";
    visitor.cookies.set(session, other.visitor.cookies.get(session) ?? "");
    expect((await visitor.open(callback)).status).to.equal(403);
    visitor.cookies.set(session, mine);

    const again = linkIn((await press(visitor, "oidc", oidc)).text);
    const done = await visitor.open((await op.logIn(again, sub)).slice(app.url.length));
    expect(done.location).to.equal(at);
    const fresh = browser(app.url);
    const { location } = await fresh.open(`/login/oidc/${oidc}`);
    await fresh.open((await op.logIn(location, sub)).slice(app.url.length));
    expect(await aliasIn(fresh)).to.equal(user.alias);
  });

  it("is offered, and possible, only while one can log in there", async () => {
    const { visitor } = await loggedIn();
    const page = await visitor.open(at);
    const fields = { login: "anna", password: "anna's secret" };
    const loginPage = (isEnableLdap: boolean) =>
      app.post("/admin/settings/login-page", { token: root.token, body: { isEnableLdap } });
    const enabled = (on: boolean) =>
      app.put(`/admin/ldap/${ldap}/change-status?isEnabled=${on}`, { token: root.token });
    for (const change of [loginPage, enabled]) {
      const off = await change(false);
      expect(off.status, off.text).to.equal(200);
      expect((await visitor.open(at)).text).not.to.contain(`${at}/ldap/`);
      const tried = await visitor.submit(page, `${at}/ldap/${ldap}`, fields);
      expect(tried.status).to.be.oneOf([403, 404]);
      expect((await change(true)).status).to.equal(200);
      expect((await visitor.open(at)).text).to.contain(`${at}/ldap/`);
    }
  });

  it("is not begun by a link, nor by another site's form", async () => {
    const { visitor } = await loggedIn();
    const path = `${at}/oidc/${oidc}`;
    expect((await visitor.open(path)).status).to.equal(405);
    expect((await visitor.post(path, {})).status).to.equal(403);
    expect(await press(browser(app.url), "oidc", oidc).catch(() => null)).to.equal(null);
  });
});
