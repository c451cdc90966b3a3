import { expect } from "chai";

import type { TestApp, TestUser } from "../app/app.ts";
import { type Browser, browser } from "./browser.ts";

/** Every login page is on; what a test changes it puts back by calling this again. */
export async function openLoginPages(app: TestApp, root: TestUser, over: object = {}) {
  const all = { isEnableBasic: true, isEnableLdap: true, isEnableSaml: true, isEnableOidc: true };
  await change(app, root, "login-page", { loginPageUrl: "BASIC", ...all, ...over });
}

export async function change(app: TestApp, root: TestUser, group: string, body: object) {
  const { status, text } = await app.post(`/admin/settings/${group}`, { token: root.token, body });
  expect(status, text).to.equal(200);
}

/** Creates a connection and switches it on. @returns its id */
export async function connectionOf(
  app: TestApp,
  root: TestUser,
  kind: "saml" | "ldap" | "oidc",
  body: object,
): Promise<string> {
  const made = await app.post(`/admin/${kind}`, { token: root.token, body });
  expect(made.status, made.text).to.equal(200);
  const uuid = String(made.body["uuid"]);
  await switchConnection(app, root, { kind, uuid }, true);
  return uuid;
}

export async function switchConnection(
  app: TestApp,
  root: TestUser,
  { kind, uuid }: Readonly<{ kind: string; uuid: string }>,
  on: boolean,
) {
  const path = `/admin/${kind}/${uuid}/change-status?isEnabled=${on}`;
  expect((await app.put(path, { token: root.token })).status).to.equal(200);
}

/** Makes a token in the console and reads with it who is calling. */
export async function whoByConsoleToken(app: TestApp, visitor: Browser) {
  const page = await visitor.open("/console");
  expect(page.status).to.equal(200);
  const made = await visitor.submit(page, "/console/token", {
    name: `token-${Date.now()}`,
    scopes: ["USER_READ"],
  });
  const token = /lfat_[A-Za-z0-9]+/.exec(made.text)?.[0] ?? expect.fail(made.text);
  return (await app.get("/user/me", { token })).body;
}

/** Who is logged in; undefined when nobody. */
export async function aliasIn(visitor: Browser): Promise<string | undefined> {
  const { status, text } = await visitor.open("/console");
  return status === 200 ? /<dt>Alias<\/dt><dd>([^<]*)/.exec(text)?.[1] : undefined;
}

/** The cookies of one browser in another, as a thief would have them. */
export function sameBrowser(base: string, visitor: Browser): Browser {
  const twin = browser(base);
  for (const [name, value] of visitor.cookies) twin.cookies.set(name, value);
  return twin;
}
