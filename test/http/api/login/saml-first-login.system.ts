import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { registerIdentity } from "../../../../src/commands/login/external-account.ts";
import { UserId } from "../../../../src/events/core/ids.ts";
import { bySystem } from "../../../../src/events/core/system.ts";
import { commandDeps } from "../../../../src/http/core/command-deps.ts";
import type { Visit } from "../../../../src/http/page/core/route.ts";
import { accountOf, identityOf } from "../../../../src/http/page/login/external-account.ts";
import { findLoginConnection } from "../../../../src/projections/login/connection.ts";
import { browser } from "../../../support/client/browser.ts";
import { samlWorld } from "../../../support/client/saml-world.ts";
import {
  aliasIn,
  change,
  connectionOf,
  openLoginPages,
  switchConnection,
  whoByConsoleToken,
} from "../../../support/client/sso.ts";

const { app, root, idp, body, uuid, at, target, begin, bring, logIn, person, latest } =
  await samlWorld();

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
    // Confirmed when validation was off: another user may have taken the address before its owner came.
    const clara = await app.givenUser("clara", { emailProved: false });
    const validation = { enableEmailValidation: true, userAutoConfirm: false };
    await change(app, root, "email-validation", validation);
    expect(await attempt("clara@example.org", "c")).to.equal(undefined);
    await app.deps.db("app_user").where({ id: clara.id }).update({ is_email_proved: true });
    expect(await attempt("clara@example.org", "c")).to.equal("clara");
    expect(await attempt("root@example.org", "r")).to.equal(undefined);
    const off = { enableEmailValidation: false, userAutoConfirm: true };
    await change(app, root, "email-validation", off);
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
    expect(await aliasIn(visitor)).to.equal(latest());
  });

  it("is one, however many first logins come at once", async () => {
    const said = person();
    const visitors = Array.from({ length: 5 }, () => browser(app.url));
    await Promise.all(visitors.map((visitor) => logIn(visitor, said)));
    const aliases = await Promise.all(visitors.map(aliasIn));
    expect(new Set(aliases)).to.deep.equal(new Set([latest()]));
  });

  it("is waited for where another login of the same person has just made it", async () => {
    const connection = await findLoginConnection(app.deps.db, "SAML", uuid);
    const person = {
      subject: [idp.issuer, "just-made"] as const,
      ...{ email: null, emailVerified: false, aliasWish: "just-made", name: null, surname: null },
    };
    const authenticated = {
      connection: connection ?? expect.fail("It has no connection."),
      person,
    };
    const newUser = {
      userId: UserId.parse(randomUUID()),
      email: "just-made@example.org",
      confirmed: true,
      emailProved: false,
      aliasWish: "just-made",
    };
    const metadata = bySystem({ commandId: randomUUID() }, new Date().toISOString());
    const identity = identityOf(authenticated);
    const made = await registerIdentity(commandDeps(app.deps), identity, newUser, metadata);
    const waited: (bigint | undefined)[] = [];
    const visible = async (position: bigint | undefined) => void waited.push(position);
    expect(await accountOf(authenticated, {} as Visit, { ...app.deps, visible })).to.equal(
      made.userId,
    );
    expect(waited).to.deep.equal([made.position]);
  });
});

describe("the settings of logins by SAML", () => {
  it("stop new accounts, not those that are there (disableSamlAuth)", async () => {
    const known = person();
    await logIn(browser(app.url), known);
    const alias = latest();
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

  it("close the whole login (enableSamlLoginPage), also to who is on the way", async () => {
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

  it("leave a connection that is switched off, or is none, without a way to log in", async () => {
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
