import { expect } from "chai";
import * as client from "openid-client";

import { startHttp } from "../../../../src/http/role.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import {
  authorizePath,
  decide,
  exchange,
  givenApplication,
  givenCode,
  postForm,
  refresh,
  type TestApplication,
} from "../../../support/app/oauth.ts";
import { type Browser, browser } from "../../../support/client/browser.ts";

const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));

const app = await startTestApp();
const other = await startHttp(app.platform);
closing.push(other.close);
const root = await app.givenUser("root", { admin: true });
const owner = await app.givenUser("owner");
const application = await givenApplication(app, owner);
let anna: TestUser;
let visitor: Browser;
let counter = 0;
beforeEach(async () => {
  counter += 1;
  anna = await app.givenUser(`anna-${counter}`);
  visitor = browser(app.url);
  await visitor.logIn(anna);
});

const me = (token: unknown) => app.get("/user/me", { token: String(token) });
const opens = async (token: unknown) => (await me(token)).status === 200;

async function givenTokens(of: TestApplication = application, scope = "USER_READ") {
  const { status, body, text } = await exchange(app, of, await givenCode(visitor, of, { scope }));
  expect(status, text).to.equal(200);
  return body;
}

describe("an OAuth library from npm", () => {
  const discovered = (id: string, auth?: client.ClientAuth, secret?: string) =>
    client.discovery(new URL(app.url), id, secret, auth, {
      algorithm: "oauth2",
      execute: [client.allowInsecureRequests],
    });

  async function authorised(config: client.Configuration, callback: string) {
    const verifier = client.randomPKCECodeVerifier();
    const state = client.randomState();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: "USER_READ PROJECT_READ",
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
    });
    const { location } = await decide(visitor, url.pathname + url.search);
    const checks = { pkceCodeVerifier: verifier, expectedState: state };
    return await client.authorizationCodeGrant(config, new URL(location), checks);
  }

  for (const [how, auth] of [
    ["in the header", client.ClientSecretBasic],
    ["in the body", client.ClientSecretPost],
  ] as const) {
    it(`gets, refreshes and revokes tokens with the secret ${how}`, async () => {
      const { clientId, clientSecret, callback } = application;
      const config = await discovered(clientId, auth(clientSecret), clientSecret);
      const tokens = await authorised(config, callback);
      expect(tokens.token_type).to.equal("bearer");
      expect(tokens.scope).to.equal("USER_READ PROJECT_READ");
      expect(tokens.expires_in).to.equal(30 * 24 * 3_600);
      const { body } = await me(tokens.access_token);
      expect(body["username"]).to.equal(anna.alias);

      const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? "");
      expect(await opens(tokens.access_token)).to.equal(false);
      expect(await opens(refreshed.access_token)).to.equal(true);

      await client.tokenRevocation(config, refreshed.access_token);
      expect(await opens(refreshed.access_token)).to.equal(false);
      const again = client.refreshTokenGrant(config, refreshed.refresh_token ?? "");
      await expect(again).to.be.rejectedWith(client.ResponseBodyError);
    });
  }

  it("gets tokens on the user's machine without a secret, at whatever port is free", async () => {
    const callback = "http://127.0.0.1/callback";
    const { clientId } = await givenApplication(app, owner, { callback, standalone: true });
    const config = await discovered(clientId, client.None());
    const tokens = await authorised(config, "http://127.0.0.1:50123/callback");
    expect(await opens(tokens.access_token)).to.equal(true);
  });
});

describe("the consent page", () => {
  const path = authorizePath({
    client_id: application.clientId,
    redirect_uri: application.callback,
    scope: "USER_READ,PROJECT_WRITE",
    state: "a b&c=d",
  });

  it("is shown after the login, which leads back to it", async () => {
    const stranger = browser(app.url);
    const { status, location } = await stranger.open(path);
    expect(status).to.equal(303);
    const page = await stranger.open(location);
    const fields = { login: anna.alias, password: anna.password };
    const done = await stranger.submit(page, "/login", fields);
    expect((await stranger.open(done.location)).text).to.contain("Dashboard");
  });

  it("says who requests what, and where the answer goes", async () => {
    const { text, headers } = await visitor.open(path);
    for (const shown of ["Dashboard", "owner", anna.alias, "PROJECT_WRITE", application.callback]) {
      expect(text).to.contain(shown);
    }
    expect(headers.get("content-security-policy")).to.contain(
      "form-action 'self' https://app.example;",
    );
  });

  it("warns an administrator of what a token of theirs could do", async () => {
    const administrator = browser(app.url);
    await administrator.logIn(root);
    const widened = path.replace("USER_READ", "USER_WRITE");
    expect((await administrator.open(widened)).text).to.contain("administer this whole instance");
    expect((await visitor.open(widened)).text).not.to.contain("administer");
  });

  it("sends back a code with the state, letter by letter, and who gives it", async () => {
    const { location } = await decide(visitor, path);
    const url = new URL(location);
    expect(url.origin + url.pathname).to.equal(application.callback);
    expect(url.searchParams.get("state")).to.equal("a b&c=d");
    expect(url.searchParams.get("iss")).to.equal(app.deps.publicUrl);
    expect(url.searchParams.get("code")).to.match(/^[\w-]{43}$/);
  });

  it("sends back a no as a no", async () => {
    const { location } = await decide(visitor, path, "deny");
    const { searchParams } = new URL(location);
    expect(searchParams.get("error")).to.equal("access_denied");
    expect(searchParams.get("state")).to.equal("a b&c=d");
    expect(searchParams.get("code")).to.equal(null);
  });

  it("takes every name that clients in the field give the parameters", async () => {
    const { clientId, callback } = application;
    for (const redirect of ["redirect_uri", "redirectUrl", "redirect_url"]) {
      const parameters = { clientId, [redirect]: callback, scope: "USER_READ" };
      expect((await visitor.open(authorizePath(parameters))).status, redirect).to.equal(200);
    }
  });

  it("reports to the application what is wrong with its request", async () => {
    const base = { client_id: application.clientId, state: "s" };
    const wrong: readonly (readonly [Record<string, string>, string])[] = [
      [{ scope: "USER_READ EVERYTHING" }, "invalid_scope"],
      [{ scope: "" }, "invalid_scope"],
      [{ scope: "USER_READ", response_type: "token" }, "unsupported_response_type"],
    ];
    for (const [parameters, error] of wrong) {
      for (const who of [visitor, browser(app.url)]) {
        const { status, location } = await who.open(authorizePath({ ...base, ...parameters }));
        expect(status).to.equal(303);
        const url = new URL(location);
        expect(url.origin).to.equal("https://app.example");
        expect([url.searchParams.get("error"), url.searchParams.get("state")]).to.deep.equal([
          error,
          "s",
        ]);
      }
    }
  });

  it("keeps parameters that the registered address has already", async () => {
    const callback = "https://app.example/callback?tenant=a%20b";
    const withQuery = await givenApplication(app, owner, { callback });
    const parameters = { client_id: withQuery.clientId, scope: "USER_READ" };
    const { location } = await decide(visitor, authorizePath(parameters));
    expect(location.startsWith(`${callback}&code=`)).to.equal(true);
  });
});

describe("the token of an application", () => {
  it("opens what its scopes say, and nothing else", async () => {
    const { access_token: token } = await givenTokens(application, "PROJECT_READ");
    const refused = await me(token);
    expect(refused.body).to.include({ code: "auth.scope_missing", scope: "USER_READ" });
    expect((await app.get("/project/my", { token: String(token) })).status).to.equal(200);
  });

  it("may be refreshed with fewer scopes, never with more", async () => {
    const first = await givenTokens(application, "USER_READ PROJECT_READ");
    const fewer = await refresh(app, application, first["refresh_token"], {
      scope: "PROJECT_READ",
    });
    expect(fewer.body["scope"]).to.equal("PROJECT_READ");
    expect((await me(fewer.body["access_token"])).body["code"]).to.equal("auth.scope_missing");
    const more = await refresh(app, application, fewer.body["refresh_token"], {
      scope: "USER_READ USER_WRITE",
    });
    expect([more.status, more.body["error"]]).to.deep.equal([400, "invalid_scope"]);
  });

  it("is in no event, and neither are code and refresh token", async () => {
    const code = await givenCode(visitor, application);
    const { body } = await exchange(app, application, code);
    let log = "";
    for await (const { data, metadata } of app.deps.store.readAll()) {
      log += JSON.stringify([data, metadata]);
    }
    for (const secret of [code, body["access_token"], body["refresh_token"]]) {
      expect(log).not.to.contain(String(secret));
    }
  });

  it("is answered without being kept on the way", async () => {
    const { headers } = await exchange(app, application, await givenCode(visitor, application));
    expect(headers.get("cache-control")).to.equal("no-store");
  });

  it("is named by the application that revokes it", async () => {
    const { clientId: client_id, clientSecret: client_secret } = application;
    const answer = await postForm(app, "/oauth/revoke", { client_id, client_secret });
    expect([answer.status, answer.body["error"]]).to.deep.equal([400, "invalid_request"]);
  });

  it("is remembered, and dropped everywhere when it ends", async () => {
    const ends: Readonly<Record<string, (token: unknown) => Promise<unknown>>> = {
      "the user shuts the application out": () =>
        app.delete(`/user/settings/authorized-application/${application.id}`, {
          token: anna.token,
        }),
      "the application revokes it": (token) =>
        postForm(app, "/oauth/revoke", {
          token: String(token),
          client_id: application.clientId,
          client_secret: application.clientSecret,
        }),
      "the user is blocked": () =>
        app.post(`/admin/user/${anna.id}/account/ban`, { token: root.token }),
    };
    for (const [how, end] of Object.entries(ends)) {
      const { access_token: token } = await givenTokens();
      const there = () =>
        fetch(`${other.url}/user/me`, { headers: { authorization: `token ${token}` } });
      expect((await there()).status).to.equal(200);
      expect(await opens(token)).to.equal(true);
      await end(token);
      expect(await opens(token), how).to.equal(false);
      // Elsewhere it is heard of a moment later.
      await eventually(async () => (await there()).status === 403);
    }
  });

  it("ends with its application, and sleeps while the owner is blocked", async () => {
    const boris = await app.givenUser(`boris-${counter}`);
    const of = await givenApplication(app, boris);
    const { access_token: token, refresh_token } = await givenTokens(of);
    expect(await opens(token)).to.equal(true);
    const account = `/admin/user/${boris.id}/account`;
    await app.post(`${account}/ban`, { token: root.token });
    expect(await opens(token)).to.equal(false);
    expect((await refresh(app, of, refresh_token)).body["error"]).to.equal("invalid_client");
    await app.post(`${account}/unban`, { token: root.token });
    expect(await opens(token)).to.equal(true);
    await app.delete(`/user/settings/oauth/${of.id}`, { token: boris.token });
    expect(await opens(token)).to.equal(false);
  });

  it("costs no question to the database while it is remembered", async () => {
    const { access_token: token } = await givenTokens();
    await opens(token);
    let queries = 0;
    const count = (query: { sql: string }): void => {
      if (query.sql.includes("oauth_authorization")) queries += 1;
    };
    app.platform.db.on("query", count);
    const start = performance.now();
    try {
      for (let n = 0; n < 40; n += 1) await opens(token);
    } finally {
      app.platform.db.off("query", count);
    }
    // It is kept for half a second.
    expect(queries).to.be.below(3 + (performance.now() - start) / 500);
  });

  it("fetches by git in the place of a password", async () => {
    const project = await app.givenProject(anna, `p-${counter}`);
    const { access_token: token } = await givenTokens(application, "PROJECT_READ");
    const basic = Buffer.from(`oauth2:${token}`).toString("base64");
    const at = `/project/${anna.alias}/${project.alias}.git/info/refs?service=git-upload-pack`;
    const { status } = await app.get(at, { headers: { authorization: `Basic ${basic}` } });
    expect(status).to.equal(200);
  });
});

describe("the applications one has let in", () => {
  it("are listed, each once, with all they were given", async () => {
    await givenTokens(application, "USER_READ");
    const { access_token: token } = await givenTokens(application, "PROJECT_READ");
    await app.get("/project/my", { token: String(token) });
    const list = async () => {
      const at = "/user/settings/authorized-application";
      const { body } = await app.get(at, { token: anna.token });
      return (body["_embedded"] as Record<string, Record<string, unknown>[]>)[
        "authorizedApplicationList"
      ];
    };
    const [one, ...more] = (await list()) ?? [];
    expect(more).to.deep.equal([]);
    expect(one).to.include({ applicationId: application.id, name: "Dashboard" });
    expect(one?.["scopeSet"]).to.have.members(["USER_READ", "PROJECT_READ"]);

    const console = await visitor.open("/console");
    expect(console.text).to.contain("Dashboard");
    const end = `/console/application/${application.id}/revoke`;
    expect((await visitor.submit(console, end)).status).to.equal(303);
    expect(await list()).to.deep.equal([]);
    expect((await app.get("/project/my", { token: String(token) })).status).to.equal(403);
  });

  it("are nobody else's to shut out", async () => {
    const { access_token: token } = await givenTokens();
    const at = `/user/settings/authorized-application/${application.id}`;
    expect((await app.delete(at, { token: root.token })).status).to.equal(404);
    expect(await opens(token)).to.equal(true);
  });
});

describe("the older forms of the exchange", () => {
  it("take a code and a refresh token, and answer in their own names", async () => {
    const code = await givenCode(visitor, application, { scope: "USER_READ,PROJECT_READ" });
    const { status, body, headers } = await app.get(`/api/token/access?code=${code}`);
    expect(status).to.equal(200);
    expect(headers.get("cache-control")).to.equal("no-store");
    expect(body["scope"]).to.equal("USER_READ,PROJECT_READ");
    const days = (Date.parse(String(body["expires"])) - Date.now()) / 86_400_000;
    expect(days).to.be.within(29.9, 30);
    expect(await opens(body["accessToken"])).to.equal(true);

    const again = await app.post("/rest-api/api/token/refresh", {
      body: { refreshToken: body["refreshToken"] },
    });
    expect(await opens(again.body["accessToken"])).to.equal(true);
    expect(await opens(body["accessToken"])).to.equal(false);
  });
});

describe("a code that is not exchanged", () => {
  it("ends when the address of its application changes, what was given stays", async () => {
    const callback = "https://app.example/callback";
    const changing = await givenApplication(app, owner);
    const given = await exchange(app, changing, await givenCode(visitor, changing));
    const code = await givenCode(visitor, changing);
    const { token } = owner;
    const change = (authCallbackUrl: string) => {
      const body = { name: "Other name", authCallbackUrl };
      return app.put(`/user/settings/oauth/${changing.id}`, { token, body });
    };
    const kept = await givenCode(visitor, changing);
    expect((await change(callback)).status).to.equal(200);
    expect((await exchange(app, changing, kept)).status).to.equal(200);
    expect((await change("https://app.example/elsewhere")).status).to.equal(200);
    expect((await exchange(app, changing, code)).body["error"]).to.equal("invalid_grant");
    expect((await change(callback)).status).to.equal(200);
    expect((await exchange(app, changing, code)).body["error"]).to.equal("invalid_grant");
    expect(await opens(given.body["access_token"])).to.equal(true);
    const renewed = await refresh(app, changing, given.body["refresh_token"]);
    expect(renewed.status).to.equal(200);
  });
});
