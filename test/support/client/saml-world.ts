import { expect } from "chai";

import { startHttp } from "../../../src/http/role.ts";
import { startTestApp } from "../app/app.ts";
import { type Browser, browser } from "./browser.ts";
import { type Said, samlProvider } from "./saml-provider.ts";
import { connectionOf, openLoginPages } from "./sso.ts";

/**
 * An instance that lets people in by SAML, its provider and another one. Call it at the top of the
 * file, with `await`; all login pages are open before each test.
 */
export async function samlWorld() {
  const closing: (() => Promise<void>)[] = [];
  // Registered before the app's own hooks, which drop the database.
  after(() => Promise.all(closing.map((close) => close())));

  const app = await startTestApp({ reachesLoopback: true });
  const root = await app.givenUser("root", { admin: true });
  const idp = await samlProvider();
  const stranger = await samlProvider();
  const body = {
    name: "Acme",
    idpMetadataUrl: "",
    idpIssuer: idp.issuer,
    idpInitiatedSsoUrl: idp.ssoUrl,
    cert: idp.cert,
  };

  const uuid = await connectionOf(app, root, "saml", body);
  await openLoginPages(app, root);
  const at = `/login/saml/${uuid}`;
  const target = { entityId: app.url + at, acsUrl: `${app.url}${at}/acs` };
  const metadata = (await browser(app.url).open(`${at}/metadata`)).text;

  beforeEach(() => openLoginPages(app, root));

  /** Begins a login. @returns the id of the request the provider gets */
  async function begin(visitor: Browser, path = at): Promise<string> {
    const { status, location, text } = await visitor.open(path);
    expect(status, text).to.equal(303);
    return await idp.requestOf(metadata, location);
  }

  /** Brings an answer as the provider's page makes a browser do: without our cookies. */
  const bring = (answer: string, where = at, base = app.url) =>
    browser(base).post(
      `${where}/acs`,
      { SAMLResponse: answer },
      { origin: "https://idp.example.org", "sec-fetch-site": "cross-site" },
    );

  async function logIn(visitor: Browser, said: Said, path = at) {
    const inResponseTo = await begin(visitor, path);
    const brought = await bring(await idp.answer(target, { inResponseTo, ...said }));
    return brought.status === 303 ? await visitor.open(brought.location) : brought;
  }

  /** The same service at the same address, some minutes from now. @returns where it listens */
  async function clockAhead(minutes: number): Promise<string> {
    const config = { ...app.platform.config, publicUrl: app.url };
    const now = () => new Date(Date.now() + minutes * 60_000);
    const { url, close } = await startHttp({ ...app.platform, config, now });
    closing.push(close);
    return url;
  }

  let counter = 0;
  const person = (over: Partial<Said> = {}): Said => {
    counter += 1;
    const attributes = { email: `saml-${counter}@example.org`, uid: `saml-${counter}` };
    return { nameId: `person-${counter}`, attributes, ...over };
  };
  /** The user name that the provider reports in the last of them. */
  const latest = (): string => `saml-${counter}`;
  return {
    ...{ app, root, idp, stranger, body, uuid, at, target },
    ...{ begin, bring, logIn, clockAhead, person, latest },
  };
}
