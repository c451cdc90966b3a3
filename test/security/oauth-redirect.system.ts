import { createHash, randomBytes } from "node:crypto";
import { expect } from "chai";

import { startHttp } from "../../src/http/role.ts";
import { type Send, sender, startTestApp } from "../support/app/app.ts";
import {
  authorizePath,
  exchange,
  givenApplication,
  givenCode,
  postForm,
  refresh,
  type TestApplication,
} from "../support/app/oauth.ts";
import { browser } from "../support/client/browser.ts";

/**
 * Open redirects and OAuth redirects: an attacker who changes the address that an answer goes to, or uses
 * another user's code, takes over that user's account.
 */
const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));

const app = await startTestApp();
/** The same service three minutes from now. */
const later = await startHttp({
  ...app.platform,
  now: () => new Date(Date.now() + 3 * 60_000),
});
closing.push(later.close);
const owner = await app.givenUser("owner");
const anna = await app.givenUser("anna");
const visitor = browser(app.url);
const stranger = browser(app.url);

const callback = "https://app.example/callback";
const local = "http://127.0.0.1/callback";
let server: TestApplication;
let native: TestApplication;
before(async () => {
  await visitor.logIn(anna);
  server = await givenApplication(app, owner, { callback });
  native = await givenApplication(app, owner, { callback: local, standalone: true });
});

const verifier = randomBytes(32).toString("base64url");
const challenge = createHash("sha256").update(verifier).digest("base64url");
const pkce = { code_challenge: challenge, code_challenge_method: "S256" };
const opens = async (token: unknown) =>
  (await app.get("/user/me", { token: String(token) })).status === 200;

/** Requested with and without a session: neither may redirect to the client. */
async function leadsNowhere(parameters: Record<string, string>): Promise<void> {
  for (const who of [visitor, stranger]) {
    const { status, location, text } = await who.open(authorizePath(parameters));
    expect(status, `${JSON.stringify(parameters)} → ${location}`).to.equal(422);
    expect(location).to.equal("");
    // The page of an error may hold the way out of a session, and no other form.
    const forms = text.match(/<form[^>]*>/g) ?? [];
    expect(text).to.contain("<!doctype html>").and.not.contain("Authorize");
    expect(forms.filter((form) => !form.includes("/logout"))).to.deep.equal([]);
  }
}

describe("the address an authorization is sent to", () => {
  it("is the registered one, letter by letter", async () => {
    const others = [
      "https://app.example/callback/",
      "https://app.example/callback?x",
      "https://app.example/callback#x",
      "https://app.example/callback%20",
      "https://app.example/callback ",
      "https://app.example/Callback",
      "https://APP.example/callback",
      "https://app.example:443/callback",
      "https://app.example/callback/../evil",
      "https://app.example/./callback",
      "https://app.example//callback",
      "https://app.example\\callback",
      "https://app.example@evil.example/callback",
      "https://app.example:x@evil.example/callback",
      "https://evil.example/https://app.example/callback",
      "https://app.example.evil.example/callback",
      "https://xapp.example/callback",
      "http://app.example/callback",
      "//app.example/callback",
      "/\\evil.example",
      "https:/\t/app.example/callback",
      "https://app.example/\tcallback",
      "\thttps://app.example/callback",
      "https://app.example/callback\r\nSet-Cookie: a=b",
      "javascript:alert(1)",
      "data:text/html,x",
      "https://app.example/callback,https://evil.example",
    ];
    for (const redirect of others) {
      for (const name of ["redirect_uri", "redirectUrl", "redirect_url"]) {
        await leadsNowhere({ client_id: server.clientId, [name]: redirect, scope: "USER_READ" });
      }
    }
  });

  it("is not taken from one of two", async () => {
    const twice = [
      `redirect_uri=${encodeURIComponent(callback)}&redirect_uri=https://evil.example`,
      `redirect_uri=https://evil.example&redirectUrl=${encodeURIComponent(callback)}`,
      `redirect_uri[]=https://evil.example&redirect_uri=${encodeURIComponent(callback)}&redirect_url=x`,
      `clientId=${native.clientId}`,
    ];
    for (const more of twice) {
      const at = `/oauth/authorize?client_id=${server.clientId}&scope=USER_READ&${more}`;
      const { status, location } = await visitor.open(at);
      expect([status, location], more).to.deep.equal([422, ""]);
    }
  });

  it("may have another port on the user's own machine, and nothing else may differ there", async () => {
    const parameters = { client_id: native.clientId, scope: "USER_READ", ...pkce };
    for (const port of ["1", "50123", "65535"]) {
      const redirect_uri = `http://127.0.0.1:${port}/callback`;
      const { status } = await visitor.open(authorizePath({ ...parameters, redirect_uri }));
      expect(status, redirect_uri).to.equal(200);
    }
    const others = [
      "http://127.0.0.1:0/callback",
      "http://127.0.0.1:65536/callback",
      "http://127.0.0.1:80:80/callback",
      "http://127.0.0.1:080/callback",
      "http://127.0.0.1:50123@evil.example/callback",
      "http://127.0.0.1:x@evil.example/callback",
      "http://127.0.0.1.evil.example/callback",
      "http://127.0.0.1:50123.evil.example/callback",
      "http://127.0.0.1:50123/callback/../x",
      "http://127.0.0.1:50123/other",
      "http://127.0.0.1:50123\\@evil.example/callback",
      "http://127.0.0.2:50123/callback",
      "http://127.1:50123/callback",
      "http://2130706433:50123/callback",
      "http://localhost:50123/callback",
      "http://[::1]:50123/callback",
      "https://127.0.0.1:50123/callback",
    ];
    for (const redirect_uri of others) await leadsNowhere({ ...parameters, redirect_uri });
  });

  it("may have another port on loopback for an application with a server too", async () => {
    const { clientId } = await givenApplication(app, owner, { callback: "http://localhost/in" });
    const parameters = { client_id: clientId, scope: "USER_READ" };
    const redirect_uri = "http://localhost:50123/in";
    expect((await visitor.open(authorizePath({ ...parameters, redirect_uri }))).status).to.equal(
      200,
    );
    for (const other of ["http://127.0.0.1/in", "http://localhost.evil.example/in"]) {
      await leadsNowhere({ ...parameters, redirect_uri: other });
    }
  });

  it("may have a private-use scheme, with a challenge", async () => {
    const reverse = "org.example.app:/callback";
    const { clientId } = await givenApplication(app, owner, { callback: reverse });
    const parameters = { client_id: clientId, scope: "USER_READ", redirect_uri: reverse };
    const bare = await visitor.open(authorizePath(parameters));
    expect(bare.location).to.match(/^org\.example\.app:\/callback\?error=invalid_request/);
    const page = await visitor.open(authorizePath({ ...parameters, ...pkce }));
    expect(page.headers.get("content-security-policy")).to.contain(" org.example.app:;");
    const { location } = await visitor.submit(page, "/oauth/authorize", { decision: "allow" });
    expect(location).to.match(/^org\.example\.app:\/callback\?code=/);
    for (const redirect_uri of ["org.example.app:/other", "org.example.app:callback"]) {
      await leadsNowhere({ ...parameters, ...pkce, redirect_uri });
    }
  });

  it("is nowhere for an application that is unknown or was not registered", async () => {
    const unregistered = await givenApplication(app, owner, { callback, registered: false });
    for (const client_id of [unregistered.clientId, "x", "", server.id]) {
      await leadsNowhere({ client_id, redirect_uri: callback, scope: "USER_READ" });
    }
  });

  it("is read again from the answer to the consent page", async () => {
    const good = authorizePath({ client_id: server.clientId, scope: "USER_READ" });
    const evil = { decision: "allow", redirect_uri: "https://evil.example/" };
    const consent = await visitor.open(good);
    const bent = await visitor.submit(consent, "/oauth/authorize", evil);
    expect([bent.status, bent.location]).to.deep.equal([422, ""]);
    const twice = { decision: ["allow", "deny"] };
    expect((await visitor.submit(consent, "/oauth/authorize", twice)).status).to.equal(422);
  });
});

describe("the way back from the login", () => {
  it("leads to no other site", async () => {
    const elsewhere = [
      "//evil.example",
      "/\\evil.example",
      "/\t/evil.example",
      "\\\\evil.example",
      "https://evil.example",
      "https:evil.example",
      "/.//evil.example",
      "/x/..//evil.example",
      "javascript:alert(1)",
      "@evil.example",
    ];
    for (const [index, returnTo] of elsewhere.entries()) {
      const at = `/login?returnTo=${encodeURIComponent(returnTo)}`;
      expect((await visitor.open(at)).location, returnTo).to.equal("/console");
      // A login costs a hash: some are enough, the rest is the same function.
      if (index > 3) continue;
      const page = await stranger.open("/login");
      const fields = { login: anna.alias, password: anna.password, returnTo };
      const bent = await stranger.submit(page, "/login", fields);
      expect(bent.location, returnTo).to.equal("/console");
      stranger.cookies.clear();
    }
  });
});

describe("a code", () => {
  it("is exchanged once, and the second time revokes what it gave", async () => {
    const code = await givenCode(visitor, server);
    const first = await exchange(app, server, code);
    expect(await opens(first.body["access_token"])).to.equal(true);
    const second = await exchange(app, server, code);
    expect([second.status, second.body["error"]]).to.deep.equal([400, "invalid_grant"]);
    expect(await opens(first.body["access_token"])).to.equal(false);
    expect((await refresh(app, server, first.body["refresh_token"])).status).to.equal(400);
  });

  it("leaves nobody with tokens when it is exchanged many times at once", async () => {
    const code = await givenCode(visitor, server);
    const answers = await Promise.all(Array.from({ length: 6 }, () => exchange(app, server, code)));
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length).to.be.lessThan(2);
    for (const { body } of given) expect(await opens(body["access_token"])).to.equal(false);
  });

  it("is exchanged by nobody but the application it was given to", async () => {
    const thief = await givenApplication(app, owner, { callback });
    const code = await givenCode(visitor, server);
    expect((await exchange(app, thief, code)).body["error"]).to.equal("invalid_grant");
    const wrongSecret = { ...server, clientSecret: `${server.clientSecret}x` };
    const unauthenticated = await exchange(app, wrongSecret, code);
    expect([unauthenticated.status, unauthenticated.body["error"]]).to.deep.equal([
      401,
      "invalid_client",
    ]);
    expect(unauthenticated.headers.get("www-authenticate")).to.match(/^Basic /);
    const bare = await postForm(app, "/oauth/token", {
      grant_type: "authorization_code",
      client_id: server.clientId,
      redirect_uri: callback,
      code,
    });
    expect(bare.body["error"]).to.equal("invalid_client");
    expect((await exchange(app, server, code)).status).to.equal(200);
  });

  it("is exchanged without a secret where there is none, but not with a wrong one", async () => {
    const code = await givenCode(visitor, native, pkce);
    const wrong = { ...native, clientSecret: `${native.clientSecret}x` };
    const refused = await exchange(app, wrong, code, { code_verifier: verifier });
    expect([refused.status, refused.body["error"]]).to.deep.equal([401, "invalid_client"]);
    const bare = {
      grant_type: "authorization_code",
      client_id: native.clientId,
      redirect_uri: local,
      code,
      code_verifier: verifier,
    };
    expect((await postForm(app, "/oauth/token", bare)).status).to.equal(200);
  });

  it("is exchanged with the address it was sent to", async () => {
    const code = await givenCode(visitor, server);
    for (const redirect_uri of ["https://evil.example", `${callback}/`, ""]) {
      const { body } = await exchange(app, server, code, { redirect_uri });
      expect(body["error"]).to.equal("invalid_grant");
    }
    expect((await exchange(app, server, code)).status).to.equal(200);
  });

  it("is too old after two minutes", async () => {
    const code = await givenCode(visitor, server);
    const send = sender(later.url);
    const inFuture = { post: (at: string, options?: Send) => send("POST", at, options) };
    expect((await exchange(inFuture, server, code)).body["error"]).to.equal("invalid_grant");
    expect((await exchange(app, server, code)).status).to.equal(200);
  });

  it("is refused after a block", async () => {
    const boris = await app.givenUser("boris");
    const root = await app.givenUser("root", { admin: true });
    const his = browser(app.url);
    await his.logIn(boris);
    const code = await givenCode(his, server);
    await app.post(`/admin/user/${boris.id}/account/ban`, { token: root.token });
    expect((await exchange(app, server, code)).body["error"]).to.equal("invalid_grant");
  });

  it("is taken in no field that comes twice", async () => {
    const code = await givenCode(visitor, server);
    const pairs = [
      ["grant_type", "authorization_code"],
      ["client_id", server.clientId],
      ["client_secret", server.clientSecret],
      ["redirect_uri", callback],
      ["code", code],
      ["code", "x"],
    ] as const;
    const { status, body } = await postForm(app, "/oauth/token", pairs);
    expect([status, body["error"]]).to.deep.equal([400, "invalid_request"]);
  });
});

describe("the challenge of a code", () => {
  it("is needed by an application on the user's machine", async () => {
    const parameters = { client_id: native.clientId, redirect_uri: local, scope: "USER_READ" };
    for (const more of [
      {},
      { code_challenge: challenge },
      { code_challenge: verifier, code_challenge_method: "plain" },
      { code_challenge: challenge, code_challenge_method: "s256" },
      { code_challenge_method: "S256" },
      { code_challenge: "short", code_challenge_method: "S256" },
      { code_challenge: `${challenge}=`, code_challenge_method: "S256" },
    ]) {
      const { location } = await visitor.open(authorizePath({ ...parameters, ...more }));
      const { searchParams } = new URL(location);
      expect(searchParams.get("error"), JSON.stringify(more)).to.equal("invalid_request");
      expect(searchParams.get("code")).to.equal(null);
    }
  });

  it("is not plain for any application", async () => {
    const plain = { code_challenge: verifier, code_challenge_method: "plain" };
    const parameters = { client_id: server.clientId, scope: "USER_READ", ...plain };
    const { location } = await visitor.open(authorizePath(parameters));
    expect(new URL(location).searchParams.get("error")).to.equal("invalid_request");
  });

  it("binds the code to its verifier", async () => {
    const code = await givenCode(visitor, server, pkce);
    for (const more of [
      {},
      { code_verifier: "" },
      { code_verifier: challenge },
      { code_verifier: randomBytes(32).toString("base64url") },
      { code_verifier: `${verifier}x` },
    ] as readonly Record<string, string>[]) {
      const { body } = await exchange(app, server, code, more);
      expect(body["error"], JSON.stringify(more)).to.equal("invalid_grant");
    }
    expect((await app.get(`/api/token/access?code=${code}`)).status).to.equal(422);
    const right = await exchange(app, server, code, { code_verifier: verifier });
    expect(right.status).to.equal(200);
  });

  it("was taken out on the way when a verifier comes for a code without one", async () => {
    const code = await givenCode(visitor, server);
    const { body } = await exchange(app, server, code, { code_verifier: verifier });
    expect(body["error"]).to.equal("invalid_grant");
  });
});

describe("a refresh token", () => {
  const given = async () => (await exchange(app, server, await givenCode(visitor, server))).body;

  it("is used once, and the second time revokes the whole family", async () => {
    const first = await given();
    const second = (await refresh(app, server, first["refresh_token"])).body;
    expect(await opens(second["access_token"])).to.equal(true);
    const stolen = await refresh(app, server, first["refresh_token"]);
    expect([stolen.status, stolen.body["error"]]).to.deep.equal([400, "invalid_grant"]);
    expect(await opens(second["access_token"])).to.equal(false);
    expect((await refresh(app, server, second["refresh_token"])).status).to.equal(400);
  });

  it("gives one pair at most when it is used many times at once", async () => {
    const { refresh_token: token } = await given();
    const answers = await Promise.all(Array.from({ length: 6 }, () => refresh(app, server, token)));
    expect(answers.filter(({ status }) => status === 200).length).to.be.lessThan(2);
    for (const { body } of answers) expect(await opens(body["access_token"])).to.equal(false);
  });

  it("opens nothing itself, and is no other application's", async () => {
    const thief = await givenApplication(app, owner, { callback });
    const { refresh_token: token, access_token: access } = await given();
    expect(await opens(token)).to.equal(false);
    expect((await refresh(app, thief, token)).body["error"]).to.equal("invalid_grant");
    expect((await refresh(app, server, access)).body["error"]).to.equal("invalid_grant");
    const asThief = { client_id: thief.clientId, client_secret: thief.clientSecret };
    const revoked = await postForm(app, "/oauth/revoke", { ...asThief, token: String(access) });
    expect(revoked.status).to.equal(200);
    expect(await opens(access)).to.equal(true);
    expect((await refresh(app, server, token)).status).to.equal(200);
  });
});
