import { expect } from "chai";

import { browser } from "../../../support/client/browser.ts";
import { samlProvider } from "../../../support/client/saml-provider.ts";
import { samlWorld } from "../../../support/client/saml-world.ts";
import {
  aliasIn,
  connectionOf,
  openLoginPages,
  switchConnection,
} from "../../../support/client/sso.ts";

const { app, root, body, uuid, at, begin, bring, logIn, person, latest } = await samlWorld();

describe("the account of a login by SAML", () => {
  it("of another provider's person of the same name is another", async () => {
    const said = person();
    await logIn(browser(app.url), said);
    const first = latest();
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
});
