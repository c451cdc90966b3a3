import { expect } from "chai";
import type { Browser, Shown } from "../client/browser.ts";
import type { TestApp, TestUser } from "./app.ts";

export type TestApplication = Readonly<{
  id: string;
  clientId: string;
  clientSecret: string;
  callback: string;
}>;

type Details = Readonly<{ callback?: string; standalone?: boolean; registered?: boolean }>;

export async function givenApplication(
  app: TestApp,
  owner: TestUser,
  {
    callback = "https://app.example/callback",
    standalone = false,
    registered = true,
  }: Details = {},
): Promise<TestApplication> {
  const { token } = owner;
  const body = { name: "Dashboard", authCallbackUrl: callback, standalone };
  const created = await app.post("/user/settings/oauth", { token, body });
  expect(created.status, created.text).to.equal(200);
  const id = String(created.body["id"]);
  if (registered) {
    const done = await app.post(`/user/settings/oauth/${id}/register`, { token });
    expect(done.status, done.text).to.equal(200);
  }
  const clientId = String(created.body["clientId"]);
  return { id, clientId, clientSecret: String(created.body["clientSecret"]), callback };
}

export const authorizePath = (parameters: Readonly<Record<string, string>>): string =>
  `/oauth/authorize?${new URLSearchParams(parameters).toString()}`;

/** Says yes or no on the consent page; what comes back is the address the browser is sent to. */
export async function decide(
  visitor: Browser,
  path: string,
  decision: "allow" | "deny" = "allow",
): Promise<Shown> {
  const consent = await visitor.open(path);
  expect(consent.status, consent.text).to.equal(200);
  return await visitor.submit(consent, "/oauth/authorize", { decision });
}

/** The code for an application that sends nothing unusual. */
export async function givenCode(
  visitor: Browser,
  { clientId, callback }: TestApplication,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const parameters = { client_id: clientId, redirect_uri: callback, scope: "USER_READ", ...more };
  const { location, text } = await decide(visitor, authorizePath(parameters));
  const code = new URL(location || `about:blank#${text}`).searchParams.get("code");
  return code ?? expect.fail(`no code at ${location}`);
}

/** A request to an endpoint that takes forms, the application's secret in the body. */
export async function postForm(
  app: Pick<TestApp, "post">,
  path: string,
  fields: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
  headers: Readonly<Record<string, string>> = {},
) {
  const body = new URLSearchParams(fields as Record<string, string>).toString();
  const type = { "content-type": "application/x-www-form-urlencoded" };
  return await app.post(path, { headers: { ...type, ...headers }, body });
}

export const exchange = (
  app: Pick<TestApp, "post">,
  { clientId, clientSecret, callback }: TestApplication,
  code: string,
  more: Readonly<Record<string, string>> = {},
) =>
  postForm(app, "/oauth/token", {
    grant_type: "authorization_code",
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uri: callback,
    code,
    ...more,
  });

export const refresh = (
  app: Pick<TestApp, "post">,
  { clientId, clientSecret }: TestApplication,
  token: unknown,
  more: Readonly<Record<string, string>> = {},
) =>
  postForm(app, "/oauth/token", {
    grant_type: "refresh_token",
    client_id: clientId,
    client_secret: clientSecret,
    refresh_token: String(token),
    ...more,
  });
