import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";

import { type Certificate, givenCertificate } from "./certificate.ts";

// Not imported by name: its types bring those of browsers into every test.
const samlify = createRequire(import.meta.url)("samlify") as Samlify;

type Party = object;
type Identity = Readonly<{
  getMetadata: () => string;
  parseLoginRequest: (
    sp: Party,
    binding: "redirect",
    request: Readonly<{ query: Readonly<Record<string, string>> }>,
  ) => Promise<Readonly<{ extract: Readonly<{ request: { id: string } }> }>>;
  createLoginResponse: (
    sp: Party,
    request: unknown,
    binding: "post",
    user: object,
    options: Readonly<{
      customTagReplacement: (template: string) => { id: string; context: string };
    }>,
  ) => Promise<Readonly<{ context: string }>>;
}>;
type Samlify = Readonly<{
  IdentityProvider: (settings: object) => Identity;
  ServiceProvider: (settings: object) => Party;
  setSchemaValidator: (validator: object) => void;
}>;

const bindings = "urn:oasis:names:tc:SAML:2.0:bindings";
export const persistent = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";

/** What an answer says; what is not given is as it should be. */
export type Said = Readonly<{
  nameId: string;
  nameIdFormat?: string;
  attributes?: Readonly<Record<string, string>>;
  inResponseTo?: string | null;
  audience?: string;
  recipient?: string;
  destination?: string;
  issuer?: string;
  status?: string;
  /** Seconds from now. */
  from?: number;
  until?: number;
  signed?: "assertion" | "response" | "neither";
  /** The last word on the document before it is signed. */
  before?: (xml: string) => string;
}>;

/** Where the answer goes; as of the service provider's own metadata. */
export type Target = Readonly<{ entityId: string; acsUrl: string }>;

/** A provider with a key of its own, which signs with samlify. */
export async function samlProvider(
  options: Readonly<{ issuer?: string; keys?: Certificate }> = {},
) {
  const { issuer = "https://idp.example.org" } = options;
  const keys = options.keys ?? (await givenCertificate({ name: "idp" }));
  const ssoUrl = `${issuer}/sso`;
  // What it checks are requests, which are ours: their signatures and schemas are not at stake here.
  samlify.setSchemaValidator({ validate: async () => "skipped" });
  const idp = samlify.IdentityProvider({
    entityID: issuer,
    signingCert: keys.cert,
    privateKey: keys.key,
    requestSignatureAlgorithm: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
    nameIDFormat: [persistent],
    singleSignOnService: [{ Binding: `${bindings}:HTTP-Redirect`, Location: ssoUrl }],
  });

  async function answer({ entityId, acsUrl }: Target, said: Said): Promise<string> {
    const { signed = "assertion" } = said;
    const xml = document({ issuer, acsUrl, entityId }, said);
    if (signed === "neither") return Buffer.from(xml).toString("base64");
    const sp = samlify.ServiceProvider({
      entityID: entityId,
      wantAssertionsSigned: signed === "assertion",
      wantMessageSigned: signed === "response",
      assertionConsumerService: [{ Binding: `${bindings}:HTTP-POST`, Location: acsUrl }],
    });
    const customTagReplacement = () => ({ id: "_answer", context: xml });
    const options = { customTagReplacement };
    return (await idp.createLoginResponse(sp, null, "post", {}, options)).context;
  }

  return {
    issuer,
    ssoUrl,
    cert: keys.cert,
    key: keys.key,
    metadata: () => idp.getMetadata(),
    answer,
    /** Reads a request that a browser was sent here with. @returns its id */
    async requestOf(serviceMetadata: string, url: string): Promise<string> {
      const sp = samlify.ServiceProvider({ metadata: serviceMetadata });
      const query = Object.fromEntries(new URL(url).searchParams);
      return (await idp.parseLoginRequest(sp, "redirect", { query })).extract.request.id;
    },
  };
}

type Parties = Target & Readonly<{ issuer: string }>;

function document({ issuer: own, acsUrl, entityId }: Parties, said: Said): string {
  const { inResponseTo = "_request", audience = entityId, recipient = acsUrl } = said;
  const { destination = acsUrl, issuer = own, status = "Success" } = said;
  const { from = -5, until = 300, nameIdFormat = persistent, attributes = {} } = said;
  const at = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
  const to = inResponseTo === null ? "" : ` InResponseTo="${inResponseTo}"`;
  const id = () => `_${randomBytes(12).toString("hex")}`;
  const common = `Version="2.0" IssueInstant="${at(Math.min(0, from))}"`;
  const values = Object.entries(attributes).map(
    ([name, value]) =>
      `<saml:Attribute Name="${name}"><saml:AttributeValue>${value}</saml:AttributeValue></saml:Attribute>`,
  );
  const xml = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id()}" ${common} Destination="${destination}"${to}>
<saml:Issuer>${issuer}</saml:Issuer>
<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${status}"/></samlp:Status>
<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id()}" ${common}>
<saml:Issuer>${issuer}</saml:Issuer>
<saml:Subject><saml:NameID Format="${nameIdFormat}">${said.nameId}</saml:NameID>
<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="${at(until)}" Recipient="${recipient}"${to}/></saml:SubjectConfirmation></saml:Subject>
<saml:Conditions NotBefore="${at(from)}" NotOnOrAfter="${at(until)}"><saml:AudienceRestriction><saml:Audience>${audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>
<saml:AuthnStatement AuthnInstant="${at(from)}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>
<saml:AttributeStatement>${values.join("")}</saml:AttributeStatement>
</saml:Assertion>
</samlp:Response>`;
  return said.before?.(xml) ?? xml;
}
