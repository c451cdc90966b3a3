import { expect } from "chai";

import { tokenScopes } from "../support/access/token-scopes.ts";
import { basicAuth } from "../support/app/basic-auth.ts";

/** Family 12: a token opens what its scopes say, by the one way there is to show it. */
const { app, world } = await tokenScopes("sample");
const { bob } = world;

describe("a way to show a token", () => {
  const { token } = bob;
  const me = (query: string, headers: Record<string, string>) =>
    app.get(`/user/me${query}`, { headers });

  it("is the Authorization header, as token or Bearer", async () => {
    for (const scheme of ["token", "Bearer"]) {
      const headers = { authorization: `${scheme} ${token}` };
      expect((await me("", headers)).status, scheme).to.equal(200);
    }
  });

  it("is never the query", async () => {
    for (const name of ["token", "access_token", "private_token", "api_key", "authorization"]) {
      expect((await me(`?${name}=${token}`, {})).status, name).to.equal(403);
    }
  });

  it("is no other header, cookie or Basic password of an operation", async () => {
    const ways: Record<string, string>[] = [
      { "private-token": token },
      { "x-access-token": token },
      { "x-auth-token": token },
      { "x-gitlab-token": token },
      { "proxy-authorization": `token ${token}` },
      { cookie: `token=${token}; ledgerforge-session=${token}` },
      { authorization: basicAuth(bob.alias, token) },
      { authorization: basicAuth(token, "") },
      { authorization: basicAuth(token, "x-oauth-basic") },
      { "x-forwarded-user": bob.alias, "x-webauth-user": bob.alias },
    ];
    for (const headers of ways) {
      expect((await me("", headers)).status, JSON.stringify(headers)).to.equal(403);
    }
  });
});
