import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { startHttp } from "../../src/http/role.ts";
import { startTestApp } from "../support/app.ts";
import { type Browser, browser } from "../support/browser.ts";
import { startReceiver } from "../support/receiver.ts";
import { type Said, samlProvider } from "../support/saml-provider.ts";
import {
  aliasIn,
  change,
  connectionOf,
  openLoginPages,
  sameBrowser,
  switchConnection,
  whoByConsoleToken,
} from "../support/sso.ts";

const closing: (() => Promise<void>)[] = [];
// Registered before the app's own hooks, which drop the database.
after(() => Promise.all(closing.map((close) => close())));

const app = await startTestApp({ reachesLoopback: true });
const root = await app.givenUser("root", { admin: true });
const idp = await samlProvider();
const stranger = await samlProvider();
const body = {
  name: "Acme",
  idpMetadataUrl: "",
  idpIssuer: idp.issuer,
  idpInitiatedSsoUrl: idp.ssoUrl,
  cert: idp.cert,
};

const uuid = await connectionOf(app, root, "saml", body);
await openLoginPages(app, root);
const at = `/login/saml/${uuid}`;
const target = { entityId: app.url + at, acsUrl: `${app.url}${at}/acs` };
const metadata = (await browser(app.url).open(`${at}/metadata`)).text;

beforeEach(() => openLoginPages(app, root));

/** Begins a login. @returns the id of the request the provider gets */
async function begin(visitor: Browser, path = at): Promise<string> {
  const { status, location, text } = await visitor.open(path);
  expect(status, text).to.equal(303);
  return await idp.requestOf(metadata, location);
}

/** Brings an answer as the provider's page makes a browser do: without our cookies. */
const bring = (answer: string, where = at, base = app.url) =>
  browser(base).post(
    `${where}/acs`,
    { SAMLResponse: answer },
    { origin: "https://idp.example.org", "sec-fetch-site": "cross-site" },
  );

async function logIn(visitor: Browser, said: Said, path = at) {
  const inResponseTo = await begin(visitor, path);
  const brought = await bring(await idp.answer(target, { inResponseTo, ...said }));
  return brought.status === 303 ? await visitor.open(brought.location) : brought;
}

/** The same service at the same address, some minutes from now. @returns where it listens */
async function clockAhead(minutes: number): Promise<string> {
  const config = { ...app.platform.config, publicUrl: app.url };
  const now = () => new Date(Date.now() + minutes * 60_000);
  const { url, close } = await startHttp({ ...app.platform, config, now });
  closing.push(close);
  return url;
}

let counter = 0;
const person = (over: Partial<Said> = {}): Said => {
  counter += 1;
  const attributes = { email: `saml-${counter}@example.org`, uid: `saml-${counter}` };
  return { nameId: `person-${counter}`, attributes, ...over };
};

describe("a login by SAML", () => {
  it("makes an account at the first, ends in the console, and a token can be made there", async () => {
    const visitor = browser(app.url);
    const names = { givenName: "Anna", sn: "Ivanova" };
    const said = person();
    const done = await logIn(visitor, { ...said, attributes: { ...said.attributes, ...names } });
    expect([done.status, done.location], done.text).to.deep.equal([303, "/console"]);
    expect(await whoByConsoleToken(app, visitor)).to.include({
      username: `saml-${counter}`,
      email: `saml-${counter}@example.org`,
      fullName: "Anna Ivanova",
    });
  });

  it("finds the same account again, whatever else is told of the person by then", async () => {
    const said = person();
    await logIn(browser(app.url), said);
    const visitor = browser(app.url);
    await logIn(visitor, { ...said, attributes: { email: "other@example.org", uid: "other" } });
    expect(await aliasIn(visitor)).to.equal(`saml-${counter}`);
  });

  it("leads on to where the person wanted to go, and nowhere else", async () => {
    const visitor = browser(app.url);
    const done = await logIn(visitor, person(), `${at}?returnTo=%2Fconsole%3Fx%3D1`);
    expect(done.location).to.equal("/console?x=1");
    const away = `${at}?returnTo=${encodeURIComponent("//evil.example")}`;
    expect((await logIn(browser(app.url), person(), away)).location).to.equal("/console");
  });

  it("takes another alias when the one it would have is taken or reserved", async () => {
    await app.givenUser("taken");
    for (const [uid, alias] of [
      ["taken", "taken-2"],
      ["me", "me-2"],
      ["Анна К.", "user"],
      ["../../etc", "etc"],
    ] as const) {
      const said = person();
      const visitor = browser(app.url);
      await logIn(visitor, { ...said, attributes: { ...said.attributes, uid } });
      expect(await aliasIn(visitor), uid).to.equal(alias);
    }
  });

  it("asks the provider where its metadata says, which is fetched once", async () => {
    const receiver = await startReceiver();
    const issuer = "https://published.example.org";
    const published = await samlProvider({ issuer, keys: idp });
    receiver.answer((response) => void response.end(published.metadata()));
    const idpMetadataUrl = `${receiver.url}/metadata`;
    const own = await connectionOf(app, root, "saml", {
      ...body,
      idpIssuer: issuer,
      idpMetadataUrl,
    });
    for (let n = 0; n < 2; n += 1) {
      const { location } = await browser(app.url).open(`/login/saml/${own}`);
      expect(location).to.contain(`${published.ssoUrl}?SAMLRequest=`);
    }
    expect(receiver.received).to.have.length(1);

    receiver.answer((response) => void response.writeHead(302, { location: "/" }).end());
    const idpIssuer = "https://moved.example.org";
    const moved = await connectionOf(app, root, "saml", { ...body, idpIssuer, idpMetadataUrl });
    expect((await browser(app.url).open(`/login/saml/${moved}`)).status).to.equal(503);
  });

  it("is asked for anew when the provider began it, once", async () => {
    const said = person({ inResponseTo: null });
    const unasked = await bring(await idp.answer(target, said));
    expect([unasked.status, unasked.location]).to.deep.equal([303, `${at}?unasked=1`]);
    const visitor = browser(app.url);
    expect(await begin(visitor, unasked.location)).to.match(/^_/);
    expect(await aliasIn(visitor)).to.equal(undefined);
    const still = await visitor.open(`${at}?unasked=1`);
    expect(still.status).to.equal(403);
  });
});

describe("an answer to a login by SAML", () => {
  const refused = async (answer: string | Promise<string>, where = at) => {
    const head = await app.head();
    const { status, text } = await bring(await answer, where);
    expect(status, text).to.equal(403);
    expect(text).to.contain("was not accepted").and.contain("<!doctype html>");
    expect(await app.head()).to.equal(head);
  };

  it("is waited for a quarter of an hour, and then for the browser two minutes", async () => {
    for (const [minutes, ofAnswer] of [
      [16, 16],
      [3, 0],
    ] as const) {
      const visitor = browser(app.url);
      const inResponseTo = await begin(visitor);
      const answer = await idp.answer(target, person({ inResponseTo, until: 3_600 }));
      const { location } = await bring(answer, at, await clockAhead(ofAnswer));
      expect(location).to.contain(`${at}/finish?code=`);
      const afterwards = sameBrowser(await clockAhead(minutes), visitor);
      const { status, text } = await afterwards.open(location);
      expect([status, text.includes("too long ago")]).to.deep.equal([403, true]);
    }
  });

  it("is no answer to what was begun with another connection", async () => {
    const other = await connectionOf(app, root, "saml", { ...body, name: "Other" });
    const where = `/login/saml/${other}`;
    const visitor = browser(app.url);
    const inResponseTo = await begin(visitor);
    const theirs = { entityId: app.url + where, acsUrl: `${app.url}${where}/acs` };
    const { location } = await bring(await idp.answer(theirs, person({ inResponseTo })), where);
    expect(location).to.contain(`${where}/finish?code=`);
    expect((await visitor.open(location)).status).to.equal(403);
    expect(await aliasIn(visitor)).to.equal(undefined);
    await switchConnection(app, root, { kind: "saml", uuid: other }, false);
  });

  it("is refused unsigned, signed by somebody else, for another audience, expired", async () => {
    const inResponseTo = await begin(browser(app.url));
    const said = { ...person(), inResponseTo };
    await refused(idp.answer(target, { ...said, signed: "neither" }));
    await refused(stranger.answer(target, said));
    await refused(idp.answer(target, { ...said, audience: "https://other.example.org" }));
    await refused(idp.answer(target, { ...said, from: -700, until: -120 }));
    await refused("not an answer");
  });

  it("is refused the second time, by another process and after a restart as well", async () => {
    const visitor = browser(app.url);
    const answer = await idp.answer(target, {
      ...person(),
      inResponseTo: await begin(visitor),
    });
    const first = await bring(answer);
    expect(first.status).to.equal(303);
    await refused(answer);
    const publicUrl = app.url;
    const other = await startHttp({
      ...app.platform,
      config: { ...app.platform.config, publicUrl },
    });
    expect((await bring(answer, at, other.url)).status).to.equal(403);
    await other.close();
    // What the first was given still counts, once.
    expect((await visitor.open(first.location)).location).to.equal("/console");
    expect((await visitor.open(first.location)).status).to.equal(403);
  });

  it("is refused many times at once but for one", async () => {
    const answer = await idp.answer(target, {
      ...person(),
      inResponseTo: await begin(browser(app.url)),
    });
    const all = await Promise.all(Array.from({ length: 8 }, () => bring(answer)));
    expect(all.filter(({ status }) => status === 303)).to.have.length(1);
  });

  it("is worth nothing in a browser that did not ask for it", async () => {
    const attacker = browser(app.url);
    const victim = browser(app.url);
    const answer = await idp.answer(target, {
      ...person(),
      inResponseTo: await begin(attacker),
    });
    const { location } = await bring(answer);
    await begin(victim);
    const planted = await victim.open(location);
    expect(planted.status).to.equal(403);
    expect(planted.text).to.contain("not begun in this browser");
    expect(await aliasIn(victim)).to.equal(undefined);
    // Nor in the right one afterwards: it was given away.
    expect((await attacker.open(location)).status).to.equal(403);
  });

  it("is worth nothing at another connection of the same provider", async () => {
    const other = await connectionOf(app, root, "saml", { ...body, name: "Other" });
    const inResponseTo = await begin(browser(app.url));
    const answer = idp.answer(target, { ...person(), inResponseTo });
    await refused(answer, `/login/saml/${other}`);
  });

  it("gets a page that says nothing of why, and leaves the why to the log", async () => {
    const { text } = await bring(await stranger.answer(target, person()));
    expect(text).not.to.match(/signature|audience|issuer/i);
  });

  for (const [what, fields] of [
    ["nothing", {}],
    ["two answers", { SAMLResponse: ["a", "b"] }],
    ["too much", { SAMLResponse: "a".repeat(800_000) }],
  ] as const) {
    it(`is refused when it is ${what}`, async () => {
      const { status } = await browser(app.url).post(`${at}/acs`, fields);
      expect(status).to.be.within(400, 499);
    });
  }
});

describe("the account of a login by SAML", () => {
  it("is no one else's: not by e-mail, while nobody proved both", async () => {
    const anna = await app.givenUser("anna");
    const attributes = { email: "ANNA@example.org", uid: "anna" };
    const visitor = browser(app.url);
    const { status, text } = await logIn(visitor, person({ attributes }));
    expect(status).to.equal(403);
    expect(text).to.contain("account with your e-mail already").and.contain("Acme");
    expect(await aliasIn(visitor)).to.equal(undefined);
    expect((await app.get("/user/me", { token: anna.token })).status).to.equal(200);
  });

  it("is linked by an e-mail that both sides proved, but never an administrator's", async () => {
    const trusted = await connectionOf(app, root, "saml", { ...body, trustEmail: true });
    const own = `/login/saml/${trusted}`;
    const to = { entityId: app.url + own, acsUrl: `${app.url}${own}/acs` };
    const attempt = async (email: string, nameId: string) => {
      const visitor = browser(app.url);
      const inResponseTo = await begin(visitor, own);
      const said = { nameId, inResponseTo, attributes: { email } };
      const { location } = await bring(await idp.answer(to, said), own);
      await visitor.open(location);
      return await aliasIn(visitor);
    };
    await app.givenUser("clara");
    const proving = { enableEmailValidation: true, userAutoConfirm: false };
    await change(app, root, "email-validation", { ...proving, userAutoConfirm: true });
    expect(await attempt("clara@example.org", "c")).to.equal(undefined);
    await change(app, root, "email-validation", proving);
    expect(await attempt("clara@example.org", "c")).to.equal("clara");
    expect(await attempt("root@example.org", "r")).to.equal(undefined);
    await change(app, root, "email-validation", {
      enableEmailValidation: false,
      userAutoConfirm: true,
    });
    // Linked is linked, whatever the settings say by now.
    expect(await attempt("clara@example.org", "c")).to.equal("clara");
  });

  it("is not made without an e-mail, nor with one of a forbidden domain", async () => {
    for (const attributes of [{}, { email: "nobody" }, { email: "a@b" }] as const) {
      const { status, text } = await logIn(browser(app.url), person({ attributes }));
      expect(status).to.equal(403);
      expect(text).to.contain("no e-mail");
    }
    await change(app, root, "email-validation", {
      enableDomainValidation: true,
      blackListDomains: ["blocked.example"],
    });
    const attributes = { email: "x@blocked.example" };
    expect((await logIn(browser(app.url), person({ attributes }))).status).to.equal(422);
    await change(app, root, "email-validation", { enableDomainValidation: false });
  });

  it("lets nobody in who is blocked", async () => {
    const said = person();
    const visitor = browser(app.url);
    await logIn(visitor, said);
    const { id } = await whoByConsoleToken(app, visitor);
    await app.post(`/admin/user/${id}/account/ban`, { token: root.token });
    expect(await aliasIn(visitor)).to.equal(undefined);
    const { status } = await logIn(visitor, said);
    expect(status).to.equal(403);
    expect(await aliasIn(visitor)).to.equal(undefined);
    await app.post(`/admin/user/${id}/account/unban`, { token: root.token });
    await logIn(visitor, said);
    expect(await aliasIn(visitor)).to.equal(`saml-${counter}`);
  });

  it("is one, however many first logins come at once", async () => {
    const said = person();
    const visitors = Array.from({ length: 5 }, () => browser(app.url));
    await Promise.all(visitors.map((visitor) => logIn(visitor, said)));
    const aliases = await Promise.all(visitors.map(aliasIn));
    expect(new Set(aliases)).to.deep.equal(new Set([`saml-${counter}`]));
  });

  it("of another provider's person of the same name is another", async () => {
    const said = person();
    await logIn(browser(app.url), said);
    const first = `saml-${counter}`;
    // The administrator points the connection at another provider.
    const issuer = "https://new.example.org";
    const next = await samlProvider({ issuer });
    const own = await connectionOf(app, root, "saml", body);
    const path = `/login/saml/${own}`;
    const to = { entityId: app.url + path, acsUrl: `${app.url}${path}/acs` };
    const moved = { ...body, idpIssuer: issuer, cert: next.cert };
    await app.put(`/admin/saml/${own}`, { token: root.token, body: moved });
    const visitor = browser(app.url);
    const inResponseTo = await begin(visitor, path);
    const attributes = { email: "someone@example.org", uid: "someone" };
    const answer = await next.answer(to, { ...said, attributes, inResponseTo });
    await visitor.open((await bring(answer, path)).location);
    expect(await aliasIn(visitor))
      .to.equal("someone")
      .and.not.equal(first);
  });
});

describe("the settings of logins by SAML", () => {
  it("stop new accounts, not those that are there (disableSamlAuth)", async () => {
    const known = person();
    await logIn(browser(app.url), known);
    const alias = `saml-${counter}`;
    await change(app, root, "auth-methods", { disableSamlAuth: true });
    const { status, text } = await logIn(browser(app.url), person());
    expect(status).to.equal(403);
    expect(text).to.contain("makes no new ones");
    const visitor = browser(app.url);
    await logIn(visitor, known);
    expect(await aliasIn(visitor)).to.equal(alias);
    await change(app, root, "auth-methods", { disableSamlAuth: false });
    expect((await logIn(browser(app.url), person())).location).to.equal("/console");
  });

  it("close the whole door (enableSamlLoginPage), also to who is on the way", async () => {
    const visitor = browser(app.url);
    const link = `href="${at}?returnTo=`;
    expect((await visitor.open("/login?choose=1")).text).to.contain(link);
    const answer = await idp.answer(target, { ...person(), inResponseTo: await begin(visitor) });
    const brought = await bring(answer);
    await openLoginPages(app, root, { isEnableSaml: false });
    expect((await visitor.open("/login?choose=1")).text).not.to.contain(link);
    expect((await visitor.open(at)).status).to.equal(404);
    expect((await bring(answer)).status).to.equal(404);
    expect((await visitor.open(brought.location)).status).to.equal(404);
    expect(await aliasIn(visitor)).to.equal(undefined);
    await openLoginPages(app, root);
    expect((await visitor.open(brought.location)).location).to.equal("/console");
  });

  it("send straight to the provider when its page is the default (defaultLoginPage)", async () => {
    const uuids = (
      (await app.get("/admin/saml?size=100", { token: root.token })).body["_embedded"] as {
        samlAdminApiModelList: { uuid: string }[];
      }
    ).samlAdminApiModelList.map((each) => each.uuid);
    for (const other of uuids.filter((each) => each !== uuid)) {
      await switchConnection(app, root, { kind: "saml", uuid: other }, false);
    }
    await openLoginPages(app, root, { loginPageUrl: "SAML" });
    const visitor = browser(app.url);
    const { location } = await visitor.open("/login?returnTo=/console");
    expect(location).to.match(new RegExp(`^${at}\\?returnTo=`));
    expect(await begin(visitor, location)).to.match(/^_/);
    expect((await visitor.open("/login?choose=1")).text).to.contain("<form");
  });

  it("leave a connection that is switched off, or is none, without a door", async () => {
    const off = await connectionOf(app, root, "saml", body);
    await switchConnection(app, root, { kind: "saml", uuid: off }, false);
    for (const id of [off, randomUUID()]) {
      expect((await browser(app.url).open(`/login/saml/${id}`)).status).to.equal(404);
      const answer = await idp.answer(target, person());
      expect((await bring(answer, `/login/saml/${id}`)).status).to.equal(404);
    }
    expect((await browser(app.url).open("/login/saml/x")).status).to.equal(404);
  });
});
