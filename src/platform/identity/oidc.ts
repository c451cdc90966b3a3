import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from "openid-client";

import type { OutboundHttp } from "../outbound/http.ts";

export type OidcMetadata = ServerMetadata;

/** A provider, and what this instance is to it. */
export type OidcParties = Readonly<{
  issuer: string;
  clientId: string;
  /** Null for a public client. */
  clientSecret: string | null;
  scopes: readonly string[];
  /** Where the browser comes back to; of this connection alone. */
  callbackUrl: string;
  /** The operator named the provider's host, so that it may do without TLS. */
  plainHttp: boolean;
}>;

/** What a login has to find again in its answer. */
export type OidcSecrets = Readonly<{ state: string; nonce: string; codeVerifier: string }>;

export type OidcIdentity = Readonly<{
  /** Unique within the issuer, for ever. */
  subject: string;
  email: string | null;
  emailVerified: boolean;
  username: string | null;
  name: string | null;
  surname: string | null;
}>;

/** Loaded at the first login by OpenID Connect: most instances never need it. */
const library = () => import("openid-client");
type Library = Awaited<ReturnType<typeof library>>;

const timeoutMs = 5_000;
/** Keys, tokens and claims take some kilobytes. The library parses them where it is: more would take long. */
const answerBytesMax = 256 * 1024;
const subjectLengthMax = 255;

/** A provider answered what cannot be believed. The message is for the log. */
class OidcRefused extends Error {
  override readonly name = "OidcRefused";
}

/**
 * What a provider publishes about itself; the library compares the issuer in it with the one that was
 * queried.
 *
 * @throws what the guard, the network or the library says
 */
export async function discoverOidc(
  outbound: OutboundHttp,
  { issuer, plainHttp }: Pick<OidcParties, "issuer" | "plainHttp">,
): Promise<ServerMetadata> {
  const { allowInsecureRequests, customFetch, discovery, None } = await library();
  const found = await discovery(new URL(issuer), "discovery", undefined, None(), {
    [customFetch]: guardedFetch(outbound),
    timeout: timeoutMs / 1_000,
    execute: plainHttp ? [allowInsecureRequests] : [],
  });
  return found.serverMetadata();
}

/** Where the browser is sent to log in. */
export async function oidcLoginUrl(
  metadata: ServerMetadata,
  parties: OidcParties,
  { state, nonce, codeVerifier }: OidcSecrets,
): Promise<string> {
  const openid = await library();
  const url = openid.buildAuthorizationUrl(configurationOf(openid, metadata, parties), {
    redirect_uri: parties.callbackUrl,
    scope: parties.scopes.join(" "),
    state,
    nonce,
    code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: "S256",
  });
  return url.href;
}

/**
 * Redeems the code that the browser brought. State, issuer of the answer (RFC 9207), nonce, audience,
 * times and signature are checked by the library.
 *
 * @param query of the callback, as it came
 * @throws OidcRefused that says why, or what the guard and the network say
 */
export async function redeemOidc(
  outbound: OutboundHttp,
  metadata: ServerMetadata,
  parties: OidcParties,
  { query, secrets }: Readonly<{ query: string; secrets: OidcSecrets }>,
): Promise<OidcIdentity> {
  const openid = await library();
  const configuration = configurationOf(openid, metadata, parties);
  configuration[openid.customFetch] = guardedFetch(outbound);
  configuration.timeout = timeoutMs / 1_000;
  // Left to itself the library trusts the connection that the token came by.
  openid.enableNonRepudiationChecks(configuration);
  const { state: expectedState, nonce: expectedNonce, codeVerifier } = secrets;
  const tokens = await openid.authorizationCodeGrant(
    configuration,
    new URL(`${parties.callbackUrl}${query}`),
    { expectedState, expectedNonce, pkceCodeVerifier: codeVerifier, idTokenExpected: true },
  );
  const claims = tokens.claims();
  if (claims === undefined) throw new OidcRefused("There was no id token.");
  const { sub } = claims;
  if (sub === "" || sub.length > subjectLengthMax) throw new OidcRefused("The subject is no name.");
  const userClaims = { ...claims };
  if (typeof claims["email"] !== "string" && metadata.userinfo_endpoint !== undefined) {
    Object.assign(userClaims, await openid.fetchUserInfo(configuration, tokens.access_token, sub));
  }
  return {
    subject: sub,
    email: text(userClaims["email"]),
    // Only the word itself: some providers let people type in any address.
    emailVerified: userClaims["email_verified"] === true,
    username: text(userClaims["preferred_username"]),
    name: text(userClaims["given_name"]),
    surname: text(userClaims["family_name"]),
  };
}

const text = (claim: unknown): string | null =>
  typeof claim === "string" && claim.trim() !== "" ? claim.trim() : null;

function configurationOf(
  openid: Library,
  metadata: ServerMetadata,
  { clientId, clientSecret, plainHttp }: OidcParties,
): Configuration {
  const authentication = authenticationOf(openid, metadata, clientSecret);
  const configuration = new openid.Configuration(metadata, clientId, undefined, authentication);
  if (plainHttp) openid.allowInsecureRequests(configuration);
  return configuration;
}

/** Basic is what providers have to know; some know the form alone. */
function authenticationOf(
  { None, ClientSecretBasic, ClientSecretPost }: Library,
  metadata: ServerMetadata,
  secret: string | null,
): ClientAuth {
  if (secret === null) return None();
  const known = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return known.includes("client_secret_basic")
    ? ClientSecretBasic(secret)
    : ClientSecretPost(secret);
}

/** The library's requests go through the guard: their addresses come from the provider's metadata. */
function guardedFetch(outbound: OutboundHttp): CustomFetch {
  return async (url, { method, headers, body }) => {
    const sent = body === undefined || body === null ? undefined : String(body);
    const answer = await outbound.request({
      method: method === "POST" ? "POST" : "GET",
      url,
      headers: { ...headers },
      ...(sent !== undefined && { body: sent }),
      timeoutMs,
      bodyBytesMax: answerBytesMax,
    });
    if (answer.bodyTruncated) throw new OidcRefused("The answer did not come whole.");
    const empty = answer.status === 204 || answer.status === 304;
    return new Response(empty ? null : answer.body.toString("utf8"), {
      status: answer.status,
      headers: answer.headers,
    });
  };
}
