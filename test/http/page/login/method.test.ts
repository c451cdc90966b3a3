import { expect } from "chai";

import { type Settings, settingsDefaults } from "../../../../src/events/instance/settings.ts";
import type { Deps } from "../../../../src/http/core/deps.ts";
import type { LoginMethod } from "../../../../src/http/page/login/connection-link.ts";
import { offeredLinks } from "../../../../src/http/page/login/method.ts";

const method = (kind: LoginMethod["kind"], ...titles: string[]): LoginMethod => ({
  kind,
  links: async (_deps, returnTo) =>
    titles.map((title) => ({ title, path: `/login/${kind}?returnTo=${returnTo}` as const })),
});
const methods = [method("LDAP", "Directory"), method("SAML", "Acme", "Beta"), method("OIDC")];
const offered = async (settings: Partial<Settings>) => {
  const all = { ...settingsDefaults, ...settings };
  // The methods of this test do not use it.
  return (await offeredLinks(methods, all, "/x", {} as Deps)).map(({ title }) => title);
};

describe("the methods of logging in", () => {
  it("are offered while their page is on and there is a connection", async () => {
    expect(await offered({})).to.deep.equal([]);
    expect(await offered({ enableLdapLoginPage: true })).to.deep.equal(["Directory"]);
    expect(await offered({ enableOidcLoginPage: true })).to.deep.equal([]);
  });

  it("begin with the default one", async () => {
    const both = { enableLdapLoginPage: true, enableSamlLoginPage: true };
    expect(await offered(both)).to.deep.equal(["Directory", "Acme", "Beta"]);
    expect(await offered({ ...both, defaultLoginPage: "SAML" })).to.deep.equal([
      "Acme",
      "Beta",
      "Directory",
    ]);
  });
});
