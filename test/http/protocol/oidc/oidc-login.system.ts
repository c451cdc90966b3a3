import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { type Browser, browser } from "../../../support/client/browser.ts";
import {
  type OidcPerson,
  oidcProvider,
  startServer,
} from "../../../support/client/oidc-provider.ts";
import {
  aliasIn,
  change,
  connectionOf,
  openLoginPages,
  sameBrowser,
  switchConnection,
  whoByConsoleToken,
} from "../../../support/client/sso.ts";

const [server, fake] = [await startServer(), await startServer()];
const named = [server, fake].map(({ port }) => `127.0.0.1:${port}`);
const app = await startTestApp({ outboundAllow: named });
const root = await app.givenUser("root", { admin: true });
const body = { name: "Acme", issuer: server.url, clientId: "forge", clientSecret: "a secret" };

const uuid = await connectionOf(app, root, "oidc", body);
const other = await connectionOf(app, root, "oidc", { ...body, name: "Other", trustEmail: true });
const at = `/login/oidc/${uuid}`;
const op = oidcProvider(server, {
  id: "forge",
  secret: "a secret",
  redirectUris: [uuid, other].map((id) => `${app.url}/login/oidc/${id}/callback`),
});
beforeEach(() => openLoginPages(app, root));

let counter = 0;
const person = (over: OidcPerson = {}): string => {
  counter += 1;
  const name = `oidc-${counter}`;
  return op.person({ email: `${name}@example.org`, preferred_username: name, ...over });
};

async function begin(visitor: Browser, path = at): Promise<string> {
  const { status, location, text } = await visitor.open(path);
  expect(status, text).to.equal(303);
  return location;
}

/** Through the provider and back. @returns the address of the callback, not yet opened */
async function answerTo(visitor: Browser, sub: string, path = at): Promise<string> {
  return (await op.logIn(await begin(visitor, path), sub)).slice(app.url.length);
}

const logIn = async (visitor: Browser, sub: string, path = at) =>
  await visitor.open(await answerTo(visitor, sub, path));

async function refused(visitor: Browser, callback: string): Promise<void> {
  const head = await app.head();
  const { status, text } = await visitor.open(callback);
  expect(status, text).to.equal(403);
  expect(await aliasIn(visitor)).to.equal(undefined);
  expect(await app.head()).to.equal(head);
}

describe("a login by OpenID Connect", () => {
  it("makes an account at the first, ends in the console, and a token can be made there", async () => {
    const visitor = browser(app.url);
    const sub = person({ given_name: "Anna", family_name: "Ivanova" });
    const done = await logIn(visitor, sub, `${at}?returnTo=/console?x=1`);
    expect([done.status, done.location], done.text).to.deep.equal([303, "/console?x=1"]);
    expect(await whoByConsoleToken(app, visitor)).to.include({
      username: `oidc-${counter}`,
      email: `oidc-${counter}@example.org`,
      fullName: "Anna Ivanova",
    });
    const again = browser(app.url);
    await logIn(again, sub);
    expect(await aliasIn(again)).to.equal(`oidc-${counter}`);
  });

  it("sends requests with PKCE, state and nonce, each time new", async () => {
    const urls = [await begin(browser(app.url)), await begin(browser(app.url))];
    const [first, second] = urls.map((url) => new URL(url).searchParams);
    expect(first?.get("code_challenge_method")).to.equal("S256");
    expect(first?.get("redirect_uri")).to.equal(`${app.url}${at}/callback`);
    for (const name of ["state", "nonce", "code_challenge"]) {
      expect(first?.get(name)).to.match(/^[\w-]{43}$/);
      expect(first?.get(name)).not.to.equal(second?.get(name));
    }
  });

  it("is worth nothing in a browser that did not begin it", async () => {
    const attacker = browser(app.url);
    const callback = await answerTo(attacker, person());
    await refused(browser(app.url), callback);
    const victim = browser(app.url);
    await begin(victim);
    await refused(victim, callback);
  });

  it("is worth nothing the second time", async () => {
    const visitor = browser(app.url);
    const callback = await answerTo(visitor, person());
    const twin = sameBrowser(app.url, visitor);
    expect((await visitor.open(callback)).location).to.equal("/console");
    await refused(twin, callback);
  });

  it("is refused about a name out of all proportion", async () => {
    const visitor = browser(app.url);
    const sub = op.person({ email: "long@example.org" }, "x".repeat(256));
    await refused(visitor, await answerTo(visitor, sub));
  });

  it("is worth nothing at another connection", async () => {
    const visitor = browser(app.url);
    const callback = await answerTo(visitor, person());
    await refused(visitor, callback.replace(uuid, other));
  });

  for (const [what, edit] of [
    ["another state", (url: URL) => url.searchParams.set("state", "x".repeat(43))],
    ["no state", (url: URL) => url.searchParams.delete("state")],
    ["another issuer", (url: URL) => url.searchParams.set("iss", "https://evil.example")],
    ["no issuer, although it is announced", (url: URL) => url.searchParams.delete("iss")],
    ["another code", (url: URL) => url.searchParams.set("code", "x")],
    ["two codes", (url: URL) => url.searchParams.append("code", "x")],
    ["no code", (url: URL) => url.searchParams.delete("code")],
    ["an error", (url: URL) => url.searchParams.set("error", "access_denied")],
  ] as const) {
    it(`is refused with ${what}`, async () => {
      const visitor = browser(app.url);
      const url = new URL(await answerTo(visitor, person()), app.url);
      edit(url);
      await refused(visitor, url.pathname + url.search);
    });
  }

  for (const [what, parameter] of [
    ["a nonce that was not sent", "nonce"],
    ["a code that belongs to another verifier", "code_challenge"],
  ] as const) {
    it(`is refused with ${what}`, async () => {
      const visitor = browser(app.url);
      const url = new URL(await begin(visitor));
      url.searchParams.set(parameter, "n".repeat(43));
      const callback = await op.logIn(url.href, person());
      await refused(visitor, callback.slice(app.url.length));
    });
  }

  it("lets nobody in who is blocked", async () => {
    const sub = person();
    const visitor = browser(app.url);
    await logIn(visitor, sub);
    const { id } = await whoByConsoleToken(app, visitor);
    await app.post(`/admin/user/${id}/account/ban`, { token: root.token });
    const again = browser(app.url);
    expect((await logIn(again, sub)).status).to.equal(403);
    expect(await aliasIn(again)).to.equal(undefined);
    expect(await aliasIn(visitor)).to.equal(undefined);
  });

  it("takes over no account by an e-mail that the provider did not verify", async () => {
    const validated = { enableEmailValidation: true, userAutoConfirm: false };
    await change(app, root, "email-validation", validated);
    await app.givenUser("anna");
    const trusted = `/login/oidc/${other}`;
    const anna = { email: "Anna@Example.org" };
    const attempt = async (over: OidcPerson, path: string) => {
      const visitor = browser(app.url);
      await logIn(visitor, person({ ...anna, ...over }), path);
      return await aliasIn(visitor);
    };
    expect(await attempt({}, trusted)).to.equal(undefined);
    expect(await attempt({ email_verified: false }, trusted)).to.equal(undefined);
    expect(await attempt({ email_verified: "false" }, trusted)).to.equal(undefined);
    expect(await attempt({ email_verified: true }, at)).to.equal(undefined);
    expect(await attempt({ email_verified: true }, trusted)).to.equal("anna");
    const reset = { enableEmailValidation: false, userAutoConfirm: true };
    await change(app, root, "email-validation", reset);
  });
});

describe("the settings of logins by OpenID Connect", () => {
  const link = `href="${at}?returnTo=`;

  it("close the whole login (enableOidcLoginPage), also to who is on the way", async () => {
    const visitor = browser(app.url);
    expect((await visitor.open("/login?choose=1")).text).to.contain(link);
    const callback = await answerTo(visitor, person());
    await openLoginPages(app, root, { isEnableOidc: false });
    expect((await visitor.open("/login?choose=1")).text).not.to.contain(link);
    expect((await visitor.open(at)).status).to.equal(404);
    expect((await visitor.open(callback)).status).to.equal(404);
    expect(await aliasIn(visitor)).to.equal(undefined);
  });

  it("send straight to the provider when its page is the default (defaultLoginPage)", async () => {
    await switchConnection(app, root, { kind: "oidc", uuid: other }, false);
    await openLoginPages(app, root, { loginPageUrl: "OIDC" });
    const { location } = await browser(app.url).open("/login");
    expect(location).to.match(new RegExp(`^${at}\\?`));
    await switchConnection(app, root, { kind: "oidc", uuid: other }, true);
  });

  it("let a connection make no accounts", async () => {
    const closed = { ...body, clientSecret: undefined, allowRegistration: false };
    await app.put(`/admin/oidc/${uuid}`, { token: root.token, body: closed });
    const { status, text } = await logIn(browser(app.url), person());
    expect(status).to.equal(403);
    expect(text).to.contain("makes no new ones");
    const open = { ...closed, allowRegistration: true };
    await app.put(`/admin/oidc/${uuid}`, { token: root.token, body: open });
  });
});

describe("a provider of OpenID Connect that cheats", () => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const jwk = { ...publicKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: "1" };
  const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  type Overrides = Readonly<{ issuer?: string; idToken?: string; endpoint?: string }>;
  let overrides: Overrides;
  let connection: string;

  before(async () => {
    fake.answer((request, response) => {
      const { issuer = fake.url, endpoint = `${fake.url}/auth` } = overrides;
      const metadata = {
        issuer,
        authorization_endpoint: endpoint,
        token_endpoint: `${fake.url}/token`,
        jwks_uri: `${fake.url}/jwks`,
        response_types_supported: ["code"],
        id_token_signing_alg_values_supported: ["RS256"],
      };
      const tokens = { access_token: "x", token_type: "bearer", id_token: overrides.idToken };
      const answers: Record<string, object> = {
        "/.well-known/openid-configuration": metadata,
        "/jwks": { keys: [jwk] },
        "/token": tokens,
      };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(answers[request.url ?? ""] ?? {}));
    });
  });
  beforeEach(async () => {
    overrides = {};
    // One each: what a provider publishes is kept for a while.
    connection = await connectionOf(app, root, "oidc", { ...body, issuer: fake.url });
  });
  afterEach(() => switchConnection(app, root, { kind: "oidc", uuid: connection }, false));

  const jwt = (claims: object, header: object = { alg: "RS256", kid: "1" }, key = privateKey) => {
    const signed = `${base64(header)}.${base64(claims)}`;
    return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
  };

  async function tryWith(make: (claims: object) => string, over: object = {}) {
    const visitor = browser(app.url);
    const url = new URL(await begin(visitor, `/login/oidc/${connection}`));
    const nonce = url.searchParams.get("nonce");
    const now = Math.floor(Date.now() / 1_000);
    const times = { iat: now, exp: now + 300 };
    counter += 1;
    const sub = `fake-${counter}`;
    const who = { sub, email: `${sub}@example.org`, preferred_username: sub };
    const idToken = make({ iss: fake.url, aud: "forge", nonce, ...times, ...who, ...over });
    overrides = { idToken };
    const query = new URLSearchParams({ state: url.searchParams.get("state") ?? "", code: "x" });
    return { visitor, callback: `/login/oidc/${connection}/callback?${query}` };
  }

  it("would be believed if it did not", async () => {
    const { visitor, callback } = await tryWith((claims) => jwt(claims));
    expect((await visitor.open(callback)).location).to.equal("/console");
    expect(await aliasIn(visitor)).to.equal(`fake-${counter}`);
  });

  for (const [what, make] of [
    ["without a signature", (claims: object) => `${base64({ alg: "none" })}.${base64(claims)}.`],
    ["with somebody else's", (claims: object) => jwt(claims, undefined, stranger)],
    [
      "with a MAC under the public key",
      (claims: object) => {
        const signed = `${base64({ alg: "HS256", kid: "1" })}.${base64(claims)}`;
        const key = publicKey.export({ format: "pem", type: "spki" });
        return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`;
      },
    ],
  ] as const) {
    it(`is not believed ${what}`, async () => {
      const { visitor, callback } = await tryWith(make);
      await refused(visitor, callback);
    });
  }

  for (const [what, over] of [
    ["for another client", { aud: "other" }],
    ["in another's name", { iss: server.url }],
    ["with another nonce", { nonce: "x" }],
    ["without a nonce", { nonce: undefined }],
    ["too late", { exp: 1_000 }],
    ["without an end", { exp: undefined }],
    ["about nobody", { sub: "" }],
  ] as const) {
    it(`is not believed ${what}`, async () => {
      const { visitor, callback } = await tryWith((claims) => jwt(claims), over);
      await refused(visitor, callback);
    });
  }
});

describe("a provider of OpenID Connect that is out of order", () => {
  for (const [what, answer] of [
    ["claims to be another", () => ({ issuer: "https://evil.example" })],
    ["sends to a script", (issuer: string) => ({ issuer, authorization_endpoint: "javascript:1" })],
    ["sends nowhere", (issuer: string) => ({ issuer })],
    ["says nothing", () => ({})],
  ] as const) {
    it(`gets nobody when it ${what}`, async () => {
      const issuer = `${fake.url}/${what.replaceAll(" ", "-")}`;
      fake.answer((_, response) => {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(answer(issuer)));
      });
      const broken = await connectionOf(app, root, "oidc", { ...body, issuer });
      const { status, location } = await browser(app.url).open(`/login/oidc/${broken}`);
      expect([status, location]).to.deep.equal([503, ""]);
      await switchConnection(app, root, { kind: "oidc", uuid: broken }, false);
    });
  }
});
