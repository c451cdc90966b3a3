import { expect } from "chai";

import type { Route } from "../../src/http/core/route.ts";
import { routes } from "../../src/http/routes.ts";
import { startTestApp } from "../support/app/app.ts";
import { exchange, givenApplication, givenCode } from "../support/app/oauth.ts";
import { browser } from "../support/client/browser.ts";

/**
 * Family 12, gaps of scopes: an application that a person let in cannot take the account over, and
 * no token makes a stronger one.
 */
const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const developer = await app.givenUser("developer");

/** What secures an account, by operation; each is closed to applications. */
const secured = [
  "addOwnGpgKey",
  "addOwnSshKey",
  "addUserSshKey",
  "changeOAuthApplication",
  "changeOwnEmail",
  "changeOwnPassword",
  "changeUserEmail",
  "changeUserPassword",
  "createOAuthApplication",
  "createTransportToken",
  "deleteOAuthApplication",
  "deleteOwnGpgKey",
  "deleteOwnSshKey",
  "deleteUserSshKey",
  "disableTwoFactor",
  "enableTwoFactor",
  "getOAuthApplication",
  "listOAuthApplications",
  "listOwnAudit",
  "prepareTwoFactor",
  "registerOAuthApplication",
  "renewRecoveryCodes",
  "resetTwoFactor",
  "revokeAccessToken",
  "revokeAuthorizedApplication",
  "revokeTransportToken",
];
const id = "9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d";
const pathOf = ({ path }: Route) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === "userAlias" ? "root" : id));

describe("a token of an OAuth application", () => {
  let token: string;
  before(async () => {
    const application = await givenApplication(app, developer);
    const visitor = browser(app.url);
    await visitor.logIn(root);
    const scope = "USER_WRITE READ_REGISTRY WRITE_REGISTRY";
    const code = await givenCode(visitor, application, { scope });
    token = String((await exchange(app, application, code)).body["access_token"]);
    expect((await app.get("/user/me", { token })).body).to.include({ username: "root" });
  });

  for (const route of routes.filter(({ operationId }) => secured.includes(operationId))) {
    const method = route.method.toUpperCase();
    it(`is refused ${method} ${route.path}, leaving no trace`, async () => {
      const head = await app.head();
      const body = { email: "eve@example.org", name: "x", scopes: ["READ_REGISTRY"] };
      const sent = method === "GET" || method === "DELETE" ? { token } : { token, body };
      const answer = await app.send(method, pathOf(route), sent);
      expect([answer.status, answer.body["code"]]).to.deep.equal([
        403,
        "auth.not_for_applications",
      ]);
      expect(await app.head()).to.equal(head);
    });
  }

  it("is refused by all operations that change what secures an account", () => {
    const closed = routes.filter(({ notForApplications }) => notForApplications === true);
    expect(closed.map(({ operationId }) => operationId).sort()).to.deep.equal(secured);
    const about = /change-email|password|key|token|two-factor|oauth/;
    const open = routes
      .filter(({ method, path, scope }) => method !== "get" && scope !== "none" && about.test(path))
      .filter(({ notForApplications }) => notForApplications !== true)
      .map(({ operationId }) => operationId);
    // Settings of the instance, and a person's own wish to be found by mail.
    expect(open.sort()).to.deep.equal(["setArchivedPasswords"]);
  });
});

describe("a token that makes a token", () => {
  it("gives it no scope that it lacks itself", async () => {
    const head = await app.head();
    const create = (token: string, scopes: string[]) =>
      app.post("/user/settings/transport-token/create", {
        token,
        body: { name: `made with ${scopes.join(" and ")}`, scopes },
      });
    const weak = await app.givenToken(root.id, ["USER_WRITE", "READ_REGISTRY"]);
    for (const scopes of [["WRITE_REGISTRY"], ["READ_REGISTRY", "WRITE_REGISTRY"]]) {
      const refused = await create(weak, scopes);
      expect(refused.body).to.include({
        status: 403,
        code: "auth.scope_missing",
        scope: "WRITE_REGISTRY",
      });
    }
    const none = await app.givenToken(root.id, ["USER_WRITE"]);
    expect((await create(none, ["READ_REGISTRY"])).status).to.equal(403);
    expect(await app.head()).not.to.equal(head);
    expect((await create(weak, ["READ_REGISTRY"])).status).to.equal(200);
    const strong = await app.givenToken(root.id, ["USER_WRITE", "WRITE_REGISTRY"]);
    expect((await create(strong, ["READ_REGISTRY", "WRITE_REGISTRY"])).status).to.equal(200);
  });
});
