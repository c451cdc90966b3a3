import { expect } from "chai";

import { startHttp } from "../../../../src/http/role.ts";
import { browser } from "../../../support/client/browser.ts";
import { samlWorld } from "../../../support/client/saml-world.ts";
import {
  aliasIn,
  connectionOf,
  sameBrowser,
  switchConnection,
  whoByConsoleToken,
} from "../../../support/client/sso.ts";

const {
  app,
  root,
  idp,
  stranger,
  at,
  target,
  begin,
  bring,
  logIn,
  clockAhead,
  person,
  body,
  latest,
} = await samlWorld();

describe("a login by SAML", () => {
  it("makes an account at the first, ends in the console, and a token can be made there", async () => {
    const visitor = browser(app.url);
    const names = { givenName: "Anna", sn: "Ivanova" };
    const said = person();
    const done = await logIn(visitor, { ...said, attributes: { ...said.attributes, ...names } });
    expect([done.status, done.location], done.text).to.deep.equal([303, "/console"]);
    expect(await whoByConsoleToken(app, visitor)).to.include({
      username: latest(),
      email: `${latest()}@example.org`,
      fullName: "Anna Ivanova",
    });
  });

  it("finds the same account again when other attributes of the person have changed", async () => {
    const said = person();
    await logIn(browser(app.url), said);
    const visitor = browser(app.url);
    await logIn(visitor, { ...said, attributes: { email: "other@example.org", uid: "other" } });
    expect(await aliasIn(visitor)).to.equal(latest());
  });

  it("leads on to where the person wanted to go, and nowhere else", async () => {
    const visitor = browser(app.url);
    const done = await logIn(visitor, person(), `${at}?returnTo=%2Fconsole%3Fx%3D1`);
    expect(done.location).to.equal("/console?x=1");
    const away = `${at}?returnTo=${encodeURIComponent("//evil.example")}`;
    expect((await logIn(browser(app.url), person(), away)).location).to.equal("/console");
  });

  it("is requested anew when the provider began it, once", async () => {
    const said = person({ inResponseTo: null });
    const unsolicited = await bring(await idp.answer(target, said));
    expect([unsolicited.status, unsolicited.location]).to.deep.equal([303, `${at}?unasked=1`]);
    const visitor = browser(app.url);
    expect(await begin(visitor, unsolicited.location)).to.match(/^_/);
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

  it("is refused unsigned, signed by another provider, for another audience, expired", async () => {
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

  it("is worth nothing in a browser that did not request it", async () => {
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
