import { expect } from "chai";

import { startTestApp } from "../support/app/app.ts";
import {
  authorizePath,
  exchange,
  givenApplication,
  givenCode,
  refresh,
} from "../support/app/oauth.ts";
import { basicOf } from "../support/app/two-factor.ts";
import { type Browser, browser } from "../support/client/browser.ts";

/**
 * Ways around authentication: headers that only a proxy of ours could be believed, and people who are
 * blocked but find an entry point. SSH and single sign-on have the same test beside their own.
 */
const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");
const owner = await app.givenUser("owner");
const application = await givenApplication(app, owner);
const project = await app.givenProject(anna, "site");
const account = `/admin/user/${anna.id}/account`;

const claims = {
  "x-webauth-user": "root",
  "x-webauth-email": "root@example.org",
  "x-forwarded-user": "root",
  "x-forwarded-preferred-username": "root",
  "x-forwarded-email": "root@example.org",
  "x-remote-user": "root",
  "remote-user": "root",
  "x-auth-request-user": "root",
  "x-original-url": "/admin/settings",
  "x-rewrite-url": "/admin/settings",
  "x-forwarded-for": "127.0.0.1",
  "x-real-ip": "127.0.0.1",
  forwarded: "for=127.0.0.1;host=evil.example;proto=https",
  "x-forwarded-host": "evil.example",
  "x-forwarded-proto": "https",
  "x-http-method-override": "DELETE",
};

describe("the headers of a stranger", () => {
  it("authenticate nobody", async () => {
    const own = await app.get("/user/me", { headers: claims });
    expect([own.status, own.body["code"]]).to.deep.equal([403, "auth.token_invalid"]);
    expect((await app.get("/admin/settings", { headers: claims })).status).to.equal(403);
    expect((await browser(app.url).open("/console", claims)).status).to.equal(303);
    const { body } = await app.get("/user/me", { headers: claims, token: anna.token });
    expect(body["username"]).to.equal("anna");
    const asAnna = await app.get("/admin/settings", { headers: claims, token: anna.token });
    expect(asAnna.body["code"]).to.equal("auth.admin_required");
  });

  it("bend no address of ours", async () => {
    const { location } = await browser(app.url).open("/console", claims);
    expect(location).to.match(/^\/login\?/);
    const metadata = await app.get("/.well-known/oauth-authorization-server", { headers: claims });
    expect(metadata.text).not.to.contain("evil.example");
  });

  it("dodge no lock, whatever address they claim", async () => {
    const body = { lockUser: true, maxAttempts: 3, timeToLockUser: 5 };
    await app.post("/admin/settings/lock-account", { token: root.token, body });
    const victim = await app.givenUser("victim");
    const attempt = (n: number, password: string) =>
      app.post("/user/settings/access-token/create", {
        headers: {
          ...basicOf({ alias: "victim", password }),
          "x-forwarded-for": `203.0.113.${n}`,
          "x-real-ip": `203.0.113.${n}`,
          forwarded: `for=203.0.113.${n}`,
        },
        body: { name: `t ${n}`, scopes: ["USER_READ"] },
      });
    for (let n = 0; n < 3; n += 1) await attempt(n, "a wrong password");
    expect((await attempt(9, victim.password)).body["code"]).to.equal("auth.locked");
    await app.post("/admin/settings/lock-account", {
      token: root.token,
      body: { ...body, maxAttempts: 10 },
    });
  });
});

describe("a blocked user", () => {
  const git = `/project/anna/${project.alias}.git/info/refs?service=git-upload-pack`;
  let visitor: Browser;
  let code: string;
  let oauth: Record<string, unknown>;
  let transport: string;

  before(async () => {
    visitor = browser(app.url);
    await visitor.logIn(anna);
    const scope = { scope: "USER_READ PROJECT_READ" };
    oauth = (await exchange(app, application, await givenCode(visitor, application, scope))).body;
    code = await givenCode(visitor, application);
    const made = await app.post("/user/settings/transport-token/create", {
      token: anna.token,
      body: { name: "x", scopes: ["READ_REGISTRY"] },
    });
    transport = String(made.body["token"]);
    expect(transport).to.match(/^lftt_/);
    const open = await Promise.all(entryPoints().map(async ([, knock]) => await knock()));
    expect(open, "all entry points are open before").not.to.include(false);
    expect((await app.post(`${account}/ban`, { token: root.token })).status).to.equal(200);
  });

  /** Each says whether it opened. */
  const entryPoints = (): readonly (readonly [string, () => Promise<boolean>])[] => [
    [
      "an access token",
      async () => (await app.get("/user/me", { token: anna.token })).status === 200,
    ],
    [
      "an OAuth token",
      async () =>
        (await app.get("/user/me", { token: String(oauth["access_token"]) })).status === 200,
    ],
    ["a session", async () => (await visitor.open("/console")).status === 200],
    [
      "the consent page",
      async () => {
        const at = authorizePath({ client_id: application.clientId, scope: "USER_READ" });
        return (await visitor.open(at)).status === 200;
      },
    ],
    ["the login page", async () => (await browser(app.url).logIn(anna)).status === 303],
    [
      "git by password",
      async () => (await app.get(git, { headers: basicOf(anna) })).status === 200,
    ],
    [
      "git by token",
      async () => {
        const headers = basicOf({ ...anna, password: anna.token });
        return (await app.get(git, { headers })).status === 200;
      },
    ],
    [
      "git by the token of an application",
      async () => {
        const token = String(oauth["access_token"]);
        const headers = { authorization: `Bearer ${token}` };
        return (await app.get(git, { headers })).status === 200;
      },
    ],
    [
      "Basic for a new token",
      async () => {
        const body = { name: `t ${Math.random()}`, scopes: ["USER_READ"] };
        const headers = basicOf(anna);
        const at = "/user/settings/access-token/create";
        return (await app.post(at, { headers, body })).status === 200;
      },
    ],
  ];

  for (const [index, name] of entryPoints()
    .map(([name]) => name)
    .entries()) {
    it(`does not come in by ${name}`, async () => {
      const [, knock] = entryPoints()[index] ?? expect.fail();
      expect(await knock()).to.equal(false);
    });
  }

  it("does not come in by a transport token", async () => {
    const { status, body } = await app.get("/user/me", { token: transport });
    expect([status, body["code"]]).to.deep.equal([403, "auth.token_invalid"]);
  });

  it("is not brought back by an application: neither code nor refresh token give anything", async () => {
    expect((await exchange(app, application, code)).body["error"]).to.equal("invalid_grant");
    const { body } = await refresh(app, application, oauth["refresh_token"]);
    expect(body["error"]).to.equal("invalid_grant");
    expect((await app.get(`/api/token/access?code=${code}`)).status).to.equal(422);
    const users = await app.get("/admin/user?username=anna", { token: root.token });
    expect(users.status).to.equal(200);
    const row = await app.deps.db("app_user").where({ id: anna.id }).first("banned_at");
    expect(row?.banned_at).to.be.instanceOf(Date);
  });

  it("comes in again by tokens after the end of it, but by no old session", async () => {
    await app.post(`${account}/unban`, { token: root.token });
    const opened = new Map<string, boolean>();
    for (const [name, knock] of entryPoints()) opened.set(name, await knock());
    const closed = [...opened].filter(([, open]) => !open).map(([name]) => name);
    expect(closed).to.deep.equal(["a session", "the consent page"]);
  });
});
