import type { SAML } from "@node-saml/node-saml";

import { readAssertion, type SamlIdentity } from "./saml-assertion.ts";
import { parseSamlXml, SamlRefused } from "./saml-xml.ts";
import type { XmlElement } from "./xml.ts";

export type { SamlIdentity } from "./saml-assertion.ts";
export { SamlRefused } from "./saml-xml.ts";

/** This instance as one connection's provider knows it, and how that provider is known here. */
export type SamlParties = Readonly<{
  /** The audience of assertions for this instance. */
  entityId: string;
  acsUrl: string;
  idpIssuer: string;
  /** PEM; any of them may have signed. */
  certificates: readonly string[];
}>;

/** Clocks of two machines may differ by this. */
const clockSkewMs = 60_000;
/** An older assertion is refused as a replay, even while its own conditions still hold. */
const assertionAgeMaxMs = 10 * 60_000;

const protocol = "urn:oasis:names:tc:SAML:2.0:protocol";
const success = "urn:oasis:names:tc:SAML:2.0:status:Success";
const assertionNamespace = "urn:oasis:names:tc:SAML:2.0:assertion";
const signatureNamespace = "http://www.w3.org/2000/09/xmldsig#";

/** The metadata document that describes this instance to a provider. */
export async function samlServiceMetadata(
  parties: Pick<SamlParties, "entityId" | "acsUrl">,
): Promise<string> {
  // The metadata of a service provider does not contain the provider's certificates.
  const unused = { ...parties, idpIssuer: "", certificates: ["unused"] };
  const library = await libraryFor(unused, { wantAssertionsSigned: true });
  return library.generateServiceProviderMetadata(null);
}

/** The address of the provider, with the request, to which the browser is redirected to log in. */
export async function samlRequestUrl(
  parties: SamlParties,
  { ssoUrl, requestId }: Readonly<{ ssoUrl: string; requestId: string }>,
): Promise<string> {
  const login = { entryPoint: ssoUrl, generateUniqueId: () => requestId };
  const library = await libraryFor(parties, login);
  return await library.getAuthorizeUrlAsync("", undefined, {});
}

/**
 * Checks a response that the browser brings from a provider. The library checks the signature and returns
 * only what is signed; everything that it leaves to its callers is checked here.
 *
 * @param response base64, as it came in the form
 * @throws SamlRefused that says why, for the log
 */
export async function verifySamlResponse(
  parties: SamlParties,
  response: string,
  now: Date,
): Promise<SamlIdentity> {
  const root = parseSamlXml(Buffer.from(response, "base64").toString("utf8"));
  checkEnvelope(root, parties);
  const assertion = await signedAssertion(parties, response);
  return readAssertion(assertion, { ...parties, now, clockSkewMs });
}

/** Checks the parts of a response that need no signature. */
function checkEnvelope(root: XmlElement, { acsUrl }: SamlParties): void {
  if (root.localName !== "Response" || root.namespaceURI !== protocol) {
    throw new SamlRefused("It is no SAML response.");
  }
  const status = root.getElementsByTagNameNS(protocol, "StatusCode")[0]?.getAttribute("Value");
  if (status !== success) throw new SamlRefused(`The provider answered ${status ?? "no status"}.`);
  const destination = root.getAttribute("Destination") ?? "";
  if (destination !== "" && destination !== acsUrl) {
    throw new SamlRefused(`It was meant for ${destination}.`);
  }
  if (root.getElementsByTagNameNS(assertionNamespace, "EncryptedAssertion").length > 0) {
    throw new SamlRefused("Its assertion is encrypted, and this instance has given no key.");
  }
  // More than one, wherever it is hidden, is how signatures are wrapped.
  if (root.getElementsByTagNameNS("*", "Assertion").length !== 1) {
    throw new SamlRefused("It does not hold exactly one assertion.");
  }
  for (const name of ["SignatureMethod", "DigestMethod"]) {
    for (const method of Array.from(root.getElementsByTagNameNS(signatureNamespace, name))) {
      const algorithm = method.getAttribute("Algorithm") ?? "";
      if (!/sha(?:256|384|512)$/.test(algorithm)) {
        throw new SamlRefused(`It is signed with ${algorithm}, which is too weak.`);
      }
    }
  }
}

async function signedAssertion(parties: SamlParties, response: string) {
  try {
    const library = await libraryFor(parties);
    const { profile } = await library.validatePostResponseAsync({ SAMLResponse: response });
    const assertion = profile?.getAssertion?.();
    if (assertion !== undefined) return assertion;
  } catch (error) {
    throw new SamlRefused(error instanceof Error ? error.message : String(error));
  }
  throw new SamlRefused("It asserts nothing.");
}

type LibraryOptions = Readonly<{
  entryPoint?: string;
  generateUniqueId?: () => string;
  wantAssertionsSigned?: boolean;
}>;

async function libraryFor(parties: SamlParties, options: LibraryOptions = {}): Promise<SAML> {
  // Loaded at the first login by SAML: most instances never need it.
  const { SAML, ValidateInResponseTo } = await import("./saml-library.ts");
  const { entityId, acsUrl, idpIssuer, certificates } = parties;
  return new SAML({
    issuer: entityId,
    audience: entityId,
    callbackUrl: acsUrl,
    idpIssuer,
    idpCert: [...certificates],
    // One of the two has to be signed: with neither required by name, the library takes either.
    wantAssertionsSigned: false,
    wantAuthnResponseSigned: false,
    // The caller compares InResponseTo with a cookie of the browser, which survives a restart and is
    // the same for every process.
    validateInResponseTo: ValidateInResponseTo.never,
    cacheProvider: noCache,
    acceptedClockSkewMs: clockSkewMs,
    maxAssertionAgeMs: assertionAgeMaxMs,
    signatureAlgorithm: "sha256",
    identifierFormat: null,
    disableRequestedAuthnContext: true,
    ...options,
  });
}

/** The cache of the library would keep a timer for each instance. */
const noCache = {
  saveAsync: async () => null,
  getAsync: async () => null,
  removeAsync: async () => null,
};
