import { randomBytes } from "node:crypto";
import { z } from "zod";

import { parseStoredCertificates } from "../../../platform/identity/certificate.ts";
import {
  type SamlIdentity,
  type SamlParties,
  SamlRefused,
  samlRequestUrl,
  samlServiceMetadata,
} from "../../../platform/identity/saml.ts";
import { readSamlResponse } from "../../../platform/identity/saml-reader.ts";
import { firstUse, storeSignIn, takeSignIn } from "../../../platform/identity/sign-in-result.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { type ConnectionOf, findLoginConnection } from "../../../projections/login/connection.ts";
import { returnPath } from "../../access/return-to.ts";
import { home } from "../../access/session.ts";
import { samlEndpoints } from "../../api/login/saml-endpoint.ts";
import { nameLengthMax } from "../../core/schema.ts";
import {
  type PageAnswer,
  type PageDeps,
  type PageRoute,
  page,
  type Visit,
} from "../../page/core/route.ts";
import {
  ConnectionParams,
  LoginQuery,
  noConnection,
  openConnection,
} from "../../page/login/connection-page.ts";
import { finishLogin } from "../../page/login/finish-login.ts";
import {
  type Attempt,
  attemptOf,
  beginAttempt,
  mustHaveBegun,
  notBegun,
} from "../../page/login/sign-in-attempt.ts";
import { personOf, SamlPerson } from "./person.ts";

const path = "/login/saml/{connectionId}" as const;
const anonymous = { access: "anonymous", params: ConnectionParams } as const;

const metadata = page({
  ...anonymous,
  method: "get",
  path: `${path}/metadata`,
  operationId: "getSamlServiceMetadata",
  async handle({ params: { connectionId } }, { db, publicUrl }) {
    // The provider reads it before the connection is enabled.
    if ((await findLoginConnection(db, "SAML", connectionId)) === undefined) throw noConnection();
    const document = await samlServiceMetadata(samlEndpoints(publicUrl, connectionId));
    return { document, type: "application/samlmetadata+xml" };
  },
});

const begin = page({
  ...anonymous,
  method: "get",
  path,
  operationId: "logInBySaml",
  query: LoginQuery.extend({ unasked: z.string().max(nameLengthMax).optional().catch(undefined) }),
  async handle({ params, query, visit }, deps) {
    const before = await attemptOf(visit, params.connectionId, deps);
    const again = query.unasked !== undefined;
    // The provider answered our request as if there had been none: another one would repeat this without end.
    if (again && before?.again) throw refused();
    const returnTo = again ? (before?.returnTo ?? home) : returnPath(query.returnTo, home);
    const wanted = { returnTo, linkTo: again ? (before?.linkTo ?? null) : null, again };
    return await beginSaml(params.connectionId, wanted, deps);
  },
});

/** Sends the browser to the provider. */
export async function beginSaml(
  connectionId: string,
  wanted: Pick<Attempt, "returnTo" | "linkTo" | "again">,
  deps: PageDeps,
): Promise<PageAnswer> {
  const connection = await openConnection("SAML", connectionId, deps);
  // An XML id begins with a letter or an underscore.
  const requestId = `_${randomBytes(20).toString("hex")}`;
  const ssoUrl = await ssoUrlOf(connection, deps);
  const redirect = await samlRequestUrl(await partiesOf(connection, deps), { ssoUrl, requestId });
  const cookie = await beginAttempt({ connectionId, requestId, ...wanted }, deps);
  return { redirect, cookies: [cookie] };
}

async function ssoUrlOf({ details }: ConnectionOf<"SAML">, deps: PageDeps): Promise<string> {
  const { idpMetadataUrl: metadataUrl, idpIssuer: issuer, idpInitiatedSsoUrl } = details;
  return metadataUrl === ""
    ? idpInitiatedSsoUrl
    : await deps.providers.samlSsoUrl({ metadataUrl, issuer });
}

async function partiesOf(
  { id, details }: ConnectionOf<"SAML">,
  { vault, publicUrl }: PageDeps,
): Promise<SamlParties> {
  const { entityId, acsUrl } = samlEndpoints(publicUrl, id);
  const certificates = parseStoredCertificates((await vault.open(details.cert)) ?? "");
  return { entityId, acsUrl, idpIssuer: details.idpIssuer, certificates };
}

const responseLengthMax = 700_000;

/** What waits for the browser: the request that was answered, and who was authenticated. */
const SignInResult = z.object({ inResponseTo: z.string(), person: SamlPerson });

const consume = page({
  ...anonymous,
  method: "post",
  path: `${path}/acs`,
  operationId: "consumeSamlAssertion",
  // The provider's page sends it, without our cookies. It is held against them one redirect later.
  crossSite: true,
  form: z.object({ SAMLResponse: z.string().min(1).max(responseLengthMax) }),
  async handle({ params: { connectionId }, form, visit }, deps) {
    const connection = await openConnection("SAML", connectionId, deps);
    const identity = await verified(connection, form.SAMLResponse, visit, deps);
    const own = `/login/saml/${connectionId}`;
    // No request of ours caused it: it may come from another user's browser. A new request is made.
    if (identity.inResponseTo === null) return { redirect: `${own}?unasked=1` };
    const { assertionId, expiresAt: until, inResponseTo } = identity;
    if (!(await firstUse(deps, { connectionId, assertionId, until }))) {
      deps.log.warn({ connectionId, requestId: visit.requestId }, "SAML assertion came again");
      throw refused();
    }
    const result: z.input<typeof SignInResult> = {
      inResponseTo,
      person: personOf(connection, identity),
    };
    const code = await storeSignIn(deps, connectionId, result);
    return { redirect: `${own}/finish?code=${code}` };
  },
});

async function verified(
  connection: ConnectionOf<"SAML">,
  response: string,
  { requestId }: Visit,
  deps: PageDeps,
): Promise<SamlIdentity> {
  try {
    return await readSamlResponse(await partiesOf(connection, deps), response, deps.now());
  } catch (error) {
    if (!(error instanceof SamlRefused)) throw error;
    const why = { connectionId: connection.id, requestId, why: error.message };
    deps.log.warn(why, "SAML response refused");
    throw refused();
  }
}

function refused(): Refusal {
  const message = "The answer of the identity provider was not accepted. Please begin again.";
  return new Refusal("forbidden", "saml.response_refused", message);
}

const finish = page({
  ...anonymous,
  method: "get",
  path: `${path}/finish`,
  operationId: "finishSamlLogin",
  query: z.object({ code: z.string().max(100).catch("") }),
  async handle({ params: { connectionId }, query, visit }, deps) {
    const connection = await openConnection("SAML", connectionId, deps);
    const result = SignInResult.safeParse(await takeSignIn(deps, connectionId, query.code));
    const attempt = await mustHaveBegun(visit, connectionId, deps);
    // The answer to a request of another browser would log this one in as that user.
    if (!result.success || result.data.inResponseTo !== attempt.requestId) throw notBegun();
    return await finishLogin({ connection, person: result.data.person }, attempt, visit, deps);
  },
});

export const samlLoginPages: readonly PageRoute[] = [begin, consume, finish, metadata];
