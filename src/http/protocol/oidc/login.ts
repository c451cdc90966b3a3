import { randomBytes } from "node:crypto";
import { z } from "zod";

import {
  type OidcIdentity,
  type OidcParties,
  oidcLoginUrl,
  redeemOidc,
} from "../../../platform/identity/oidc.ts";
import { OutboundTimeout } from "../../../platform/outbound/http.ts";
import { OutboundRefused } from "../../../platform/outbound/url.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { ConnectionOf } from "../../../projections/login/connection.ts";
import { returnPath } from "../../access/return-to.ts";
import { home } from "../../access/session.ts";
import { oidcEndpoints } from "../../api/login/oidc-endpoint.ts";
import {
  type PageAnswer,
  type PageDeps,
  type PageRoute,
  page,
  type Visit,
} from "../../page/core/route.ts";
import { ConnectionParams, LoginQuery, openConnection } from "../../page/login/connection-page.ts";
import type { ExternalPerson } from "../../page/login/external-account.ts";
import { finishLogin } from "../../page/login/finish-login.ts";
import { type Attempt, beginAttempt, mustHaveBegun } from "../../page/login/sign-in-attempt.ts";
import { unavailable } from "./identity-providers.ts";

const path = "/login/oidc/{connectionId}" as const;
const anonymous = { access: "anonymous", params: ConnectionParams } as const;

const begin = page({
  ...anonymous,
  method: "get",
  path,
  operationId: "logInByOidc",
  query: LoginQuery,
  handle: ({ params, query }, deps) => {
    const wanted = { returnTo: returnPath(query.returnTo, home), linkTo: null };
    return beginOidc(params.connectionId, wanted, deps);
  },
});

const random = (): string => randomBytes(32).toString("base64url");

/** Sends the browser to the provider. */
export async function beginOidc(
  connectionId: string,
  wanted: Pick<Attempt, "returnTo" | "linkTo">,
  deps: PageDeps,
): Promise<PageAnswer> {
  const connection = await openConnection("OIDC", connectionId, deps);
  const parties = await partiesOf(connection, deps);
  const metadata = await deps.providers.oidcMetadata(parties);
  const secrets = { state: random(), nonce: random(), codeVerifier: random() };
  const redirect = await oidcLoginUrl(metadata, parties, secrets);
  const { state: requestId, ...rest } = secrets;
  const cookie = await beginAttempt({ connectionId, requestId, ...rest, ...wanted }, deps);
  return { redirect, cookies: [cookie] };
}

const callback = page({
  ...anonymous,
  method: "get",
  path: `${path}/callback`,
  operationId: "finishOidcLogin",
  query: z.looseObject({}),
  async handle({ params: { connectionId }, visit }, deps) {
    const connection = await openConnection("OIDC", connectionId, deps);
    const attempt = await mustHaveBegun(visit, connectionId, deps);
    const identity = await redeemed(connection, attempt, visit, deps);
    const person = personOf(connection, identity);
    return await finishLogin({ connection, person }, attempt, visit, deps);
  },
});

export const oidcLoginPages: readonly PageRoute[] = [begin, callback];

async function partiesOf(
  { id, details }: ConnectionOf<"OIDC">,
  { vault, publicUrl, allowsPlainHttp }: PageDeps,
): Promise<OidcParties> {
  const { issuer, clientId, clientSecret, scopes } = details;
  return {
    issuer,
    clientId,
    clientSecret: clientSecret === null ? null : await vault.open(clientSecret),
    scopes,
    callbackUrl: oidcEndpoints(publicUrl, id).callbackUrl,
    plainHttp: allowsPlainHttp(new URL(issuer)),
  };
}

async function redeemed(
  connection: ConnectionOf<"OIDC">,
  attempt: Attempt,
  visit: Visit,
  deps: PageDeps,
): Promise<OidcIdentity> {
  const parties = await partiesOf(connection, deps);
  const metadata = await deps.providers.oidcMetadata(parties);
  const { requestId: state, nonce = "", codeVerifier = "" } = attempt;
  const secrets = { state, nonce, codeVerifier };
  const query = new URL(visit.here, "http://here.invalid").search;
  try {
    return await redeemOidc(deps.outbound, metadata, parties, { query, secrets });
  } catch (error) {
    if (isOutage(error)) unavailable(error);
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    deps.log.warn(
      { connectionId: connection.id, requestId: visit.requestId, why },
      "OIDC login refused",
    );
    const message = "The answer of the identity provider was not accepted. Please begin again.";
    throw new Refusal("forbidden", "oidc.answer_refused", message);
  }
}

/** Not what the provider said, but that it did not. */
function isOutage(error: unknown): boolean {
  if (error instanceof OutboundTimeout || error instanceof OutboundRefused) return true;
  if (!(error instanceof Error)) return false;
  return "syscall" in error || (error.cause !== undefined && isOutage(error.cause));
}

function personOf({ details }: ConnectionOf<"OIDC">, identity: OidcIdentity): ExternalPerson {
  const { subject, email, emailVerified, username, name, surname } = identity;
  const alias = username ?? email ?? "";
  return {
    subject: [details.issuer, subject],
    email,
    emailVerified,
    aliasWish: alias.split("@")[0] ?? "",
    name,
    surname,
  };
}
