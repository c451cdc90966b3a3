import { expect } from "chai";

import {
  type SamlIdentity,
  type SamlParties,
  SamlRefused,
  samlRequestUrl,
  samlServiceMetadata,
  verifySamlResponse,
} from "../../../src/platform/identity/saml.ts";
import { samlSsoUrl } from "../../../src/platform/identity/saml-xml.ts";
import { givenCertificate } from "../../support/client/certificate.ts";
import { persistent, type Said, samlProvider } from "../../support/client/saml-provider.ts";

const idp = await samlProvider();
const stranger = await samlProvider();
const elliptic = await givenCertificate({ key: "ec" });
const parties: SamlParties = {
  entityId: "https://forge.example.org/login/saml/1",
  acsUrl: "https://forge.example.org/login/saml/1/acs",
  idpIssuer: idp.issuer,
  certificates: [idp.cert],
};
const anna: Said = { nameId: "anna-1", attributes: { email: "anna@example.org" } };
const verify = (answer: string, over: Partial<SamlParties> = {}, now = new Date()) =>
  verifySamlResponse({ ...parties, ...over }, answer, now);
const answerOf = (over: Partial<Said> = {}) => idp.answer(parties, { ...anna, ...over });
const decoded = (answer: string) => Buffer.from(answer, "base64").toString("utf8");
const encoded = (xml: string) => Buffer.from(xml).toString("base64");

async function refuses(work: Promise<SamlIdentity>, why: RegExp): Promise<void> {
  const error = await work.then(
    (identity) => expect.fail(`it was accepted: ${JSON.stringify(identity)}`),
    (thrown: unknown) => thrown,
  );
  expect(error).to.be.instanceOf(SamlRefused);
  expect(String(error)).to.match(why);
}

describe("an answer of a SAML provider", () => {
  for (const signed of ["assertion", "response"] as const) {
    it(`reports who was proved when its ${signed} is signed`, async () => {
      const begunAt = Date.now();
      const identity = await verify(await answerOf({ signed }));
      expect(identity).to.include({ inResponseTo: "_request", nameId: "anna-1" });
      expect(identity.subject).to.equal(JSON.stringify([persistent, "anna-1"]));
      expect(identity.attributes.get("email")).to.equal("anna@example.org");
      expect(identity.assertionId).to.match(/^_[0-9a-f]{24}$/);
      const secondsLeft = (at: number) => (identity.expiresAt.getTime() - at) / 1_000;
      expect(secondsLeft(begunAt)).to.be.at.least(355);
      expect(secondsLeft(Date.now())).to.be.at.most(361);
    });
  }

  it("may be signed by any of several certificates", async () => {
    const certificates = [stranger.cert, elliptic.cert, idp.cert];
    expect((await verify(await answerOf(), { certificates })).nameId).to.equal("anna-1");
  });

  for (const [what, over, why] of [
    ["unsigned", { signed: "neither" }, /signature/i],
    ["for another audience", { audience: "https://other.example.org" }, /audience/],
    ["for another address", { recipient: "https://other.example.org/acs" }, /address/],
    ["sent on from another address", { destination: "https://other.example.org/acs" }, /meant for/],
    ["expired", { from: -700, until: -120 }, /expired|no longer/],
    ["kept for too long", { from: -1_200, until: 300 }, /too old|no longer/],
    ["of tomorrow", { from: 120, until: 600 }, /not yet valid/],
    ["of another issuer", { issuer: "https://other.example.org" }, /issued by/],
    ["of failure", { status: "Responder" }, /Responder/],
    [
      "about somebody new each time",
      { nameIdFormat: persistent.replace("persistent", "transient") },
      /transient/,
    ],
    ["about nobody", { nameId: "" }, /lacks/],
    ["about a name out of all proportion", { nameId: "x".repeat(2_000) }, /too long/],
  ] as const) {
    it(`is refused ${what}`, async () => refuses(verify(await answerOf(over)), why));
  }

  for (const [what, from, to, why] of [
    [
      "without a subject's confirmation",
      /<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/,
      "",
      /lacks/,
    ],
    ["confirmed otherwise than by bringing it", /cm:bearer/, "cm:holder-of-key", /no bearer/],
    [
      "confirmed for ever",
      /(<saml:SubjectConfirmationData) NotOnOrAfter="[^"]*"/,
      "$1",
      /no longer|NotOnOrAfter/,
    ],
    [
      "confirmed for nowhere",
      /(<saml:SubjectConfirmationData [^>]*) Recipient="[^"]*"/,
      "$1",
      /address/,
    ],
    [
      "confirmed for a time that is over",
      /(<saml:SubjectConfirmationData) NotOnOrAfter="[^"]*"/,
      '$1 NotOnOrAfter="2020-01-01T00:00:00Z"',
      /no longer/,
    ],
    [
      "confirmed for a time to come",
      /<saml:SubjectConfirmationData /,
      '$&NotBefore="2999-01-01T00:00:00Z" ',
      /no longer/,
    ],
    ["without conditions", /<saml:Conditions .*<\/saml:Conditions>/, "", /./],
    [
      "for any audience",
      /<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/,
      "",
      /[Aa]udience/,
    ],
    [
      "without having seen the person",
      /<saml:AuthnStatement.*<\/saml:AuthnStatement>/,
      "",
      /AuthnStatement/,
    ],
    [
      "of a session that is over",
      /<saml:AuthnStatement /,
      '$&SessionNotOnOrAfter="2020-01-01T00:00:00Z" ',
      /over/,
    ],
    [
      "of a session until no time",
      /<saml:AuthnStatement /,
      '$&SessionNotOnOrAfter="soon" ',
      /time that is none: soon/,
    ],
    ["with two subjects", /<saml:Subject>[\s\S]*<\/saml:Subject>/, "$&$&", /too much/],
    ["with two names", /<saml:NameID.*<\/saml:NameID>/, "$&$&", /too much/],
    ["of another version", /(<saml:Assertion .*)Version="2.0"/, '$1Version="1.1"', /Version/],
  ] as const) {
    it(`is refused ${what}, although it is signed`, async () => {
      const before = (xml: string): string => {
        const changed = xml.replace(from, to);
        expect(changed).not.to.equal(xml);
        return changed;
      };
      await refuses(verify(await answerOf({ before })), why);
    });
  }

  it("is refused when another provider signed it, or it names another's key", async () => {
    await refuses(verify(await stranger.answer(parties, anna)), /signature/i);
    await refuses(verify(await answerOf(), { certificates: [stranger.cert] }), /signature/i);
  });

  it("is refused when a letter of it was changed", async () => {
    const xml = decoded(await answerOf());
    const changed = xml.replace(">anna-1<", ">boris<");
    expect(changed).not.to.equal(xml);
    await refuses(verify(encoded(changed)), /signature/i);
  });

  it("is refused when its signature was taken out", async () => {
    const xml = decoded(await answerOf()).replace(/<ds:Signature[\s\S]*<\/ds:Signature>/, "");
    await refuses(verify(encoded(xml)), /signature/i);
  });

  it("is refused when it is signed with SHA-1", async () => {
    const xml = decoded(await answerOf()).replace(
      /http[^"]*#rsa-sha256/,
      "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
    );
    await refuses(verify(encoded(xml)), /weak/);
    const mac = xml.replace(/http[^"]*#rsa-sha1/, "http://www.w3.org/2000/09/xmldsig#hmac-sha1");
    await refuses(verify(encoded(mac)), /weak/);
  });
});

describe("an answer with another number of assertions", () => {
  it("is refused with two of them, although both are signed", async () => {
    const before = (xml: string): string => {
      const [assertion = ""] = /<saml:Assertion [\s\S]*<\/saml:Assertion>/.exec(xml) ?? [];
      const another = assertion.replace("anna-1", "admin").replace(/ID="_/, 'ID="_another');
      return xml.replace(assertion, `${assertion}${another}`);
    };
    await refuses(verify(await answerOf({ signed: "response", before })), /exactly one/);
  });

  it("is refused with an encrypted one, with the reason", async () => {
    const xml = decoded(await answerOf())
      .replaceAll("saml:Assertion ", "saml:EncryptedAssertion ")
      .replaceAll("/saml:Assertion>", "/saml:EncryptedAssertion>");
    await refuses(verify(encoded(xml)), /encrypted/);
  });

  it("is refused out of all proportion before anything is computed", async () => {
    const xml = decoded(await answerOf()).replace("</samlp:Response>", `${"<a/>".repeat(5_001)}$&`);
    await refuses(verify(encoded(xml)), /proportion/);
  });
});

/** The eight ways to wrap a signature (Somorovsky et al., On Breaking SAML), and some more. */
describe("a wrapped signature", () => {
  const assertion = /<saml:Assertion [\s\S]*<\/saml:Assertion>/;
  const signature = /<ds:Signature[\s\S]*<\/ds:Signature>/;
  let signed: string;
  let evil: string;
  let original: string;

  before(async () => {
    signed = decoded(await answerOf());
    original = assertion.exec(signed)?.[0] ?? "";
    evil = original.replace("anna-1", "admin").replace(/ID="_/, 'ID="_evil');
    expect(evil).to.contain("admin").and.not.equal(original);
  });

  const unsigned = (xml: string) => xml.replace(signature, "");
  const signatureOf = (xml: string) => signature.exec(xml)?.[0] ?? "";
  const cases: Readonly<Record<string, () => string>> = {
    "with the forgery in front": () => signed.replace(assertion, `${unsigned(evil)}$&`),
    "with the forgery behind": () => signed.replace(assertion, `$&${unsigned(evil)}`),
    "with the original inside the forgery": () =>
      signed.replace(assertion, unsigned(evil).replace("</saml:Assertion>", `${original}$&`)),
    "with the original inside the forgery's signature": () =>
      signed.replace(
        assertion,
        evil.replace(
          signature,
          signatureOf(original).replace(
            "</ds:Signature>",
            `<ds:Object>${unsigned(original)}</ds:Object>$&`,
          ),
        ),
      ),
    "with the original in an extension": () =>
      signed
        .replace(assertion, unsigned(evil))
        .replace("<samlp:Status>", `<samlp:Extensions>${original}</samlp:Extensions>$&`),
    "with the original in another namespace's element": () =>
      signed.replace(assertion, `<x:w xmlns:x="urn:x">${original}</x:w>${unsigned(evil)}`),
    "with the same id twice": () =>
      signed.replace(assertion, `${unsigned(original).replace("anna-1", "admin")}$&`),
    "with the signature moved to the forgery": () => signed.replace(assertion, evil),
    "with a whole answer around the answer": () =>
      signed
        .replace(assertion, unsigned(evil))
        .replace("</samlp:Response>", `<samlp:Extensions>${signed}</samlp:Extensions>$&`),
    "with the forgery called by a prefix of its own": () =>
      signed.replace(
        assertion,
        `$&${unsigned(evil).replaceAll("saml:", "a:").replace("xmlns:a=", "xmlns:a=")}`,
      ),
  };
  for (const [what, make] of Object.entries(cases)) {
    it(`is refused ${what}`, async () => {
      const xml = make();
      expect(xml).to.contain("admin");
      await refuses(verify(encoded(xml)), /./);
    });
  }

  it("is refused around a signed answer as well", async () => {
    const whole = decoded(await answerOf({ signed: "response" }));
    const forged = whole.replace(assertion, `${unsigned(evil)}$&`);
    await refuses(verify(encoded(forged)), /./);
    const inside = unsigned(whole)
      .replace(assertion, unsigned(evil))
      .replace(/ ID="_/, ' ID="_x');
    const wrapped = inside.replace("</samlp:Response>", `<x>${whole}</x>$&`);
    await refuses(verify(encoded(wrapped)), /./);
  });
});

describe("a comment in a name", () => {
  for (const signed of ["assertion", "response"] as const) {
    it(`cuts nothing off it (${signed} signed)`, async () => {
      const nameId = "admin@example.org.evil.example";
      const answer = decoded(await answerOf({ nameId, signed }));
      // Comments are no part of what is signed, so this is still signed.
      const commented = answer.replace("example.org.evil", "example.org<!-- x -->.evil");
      expect(commented).not.to.equal(answer);
      const identity = await verify(encoded(commented)).catch((error: unknown) => error);
      if (identity instanceof SamlRefused) return;
      expect((identity as SamlIdentity).nameId).to.equal(nameId);
    });
  }

  it("cuts nothing off an attribute", async () => {
    const attributes = { email: "admin@example.org.evil.example" };
    const answer = decoded(await answerOf({ attributes }));
    const commented = answer.replace("example.org.evil", "example.org<!-- x -->.evil");
    const identity = await verify(encoded(commented));
    expect(identity.attributes.get("email")).to.equal(attributes.email);
  });
});

describe("what is no answer", () => {
  const bomb = `<!DOCTYPE x [<!ENTITY a "${"x".repeat(100)}">]><x>&a;</x>`;
  for (const [what, text] of [
    ["nothing", ""],
    ["a text", "hello"],
    ["half a document", "<samlp:Response"],
    ["another document", "<html/>"],
    ["a document type", bomb],
    ["a document type in lower case", bomb.toLowerCase()],
    ["ten thousand elements", `<a>${"<b>".repeat(10_000)}${"</b>".repeat(10_000)}</a>`],
    ["another root", '<samlp:LogoutResponse xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"/>'],
    ["an empty answer", '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"/>'],
  ] as const) {
    it(`is refused: ${what}`, async () => refuses(verify(encoded(text)), /./));
  }
});

describe("this instance as a service provider", () => {
  it("describes itself to its provider, and sends requests that the provider understands", async () => {
    const metadata = await samlServiceMetadata(parties);
    expect(metadata).to.contain(`entityID="${parties.entityId}"`);
    expect(metadata).to.contain('WantAssertionsSigned="true"');
    expect(metadata).to.contain(parties.acsUrl);
    const url = await samlRequestUrl(parties, { ssoUrl: idp.ssoUrl, requestId: "_id1" });
    expect(url.startsWith(`${idp.ssoUrl}?`)).to.equal(true);
    expect(await idp.requestOf(metadata, url)).to.equal("_id1");
  });

  it("finds where logins begin in the provider's metadata", () => {
    const own = idp.metadata();
    expect(samlSsoUrl(own, idp.issuer)).to.equal(idp.ssoUrl);
    const many = `<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${own.replace(/^<\?xml[^>]*>/, "").replaceAll("idp.example.org", "other.example.org")}${own.replace(/^<\?xml[^>]*>/, "")}</md:EntitiesDescriptor>`;
    expect(samlSsoUrl(many, idp.issuer)).to.equal(idp.ssoUrl);
  });

  for (const [what, change] of [
    ["of somebody else", (xml: string) => xml.replace(idp.issuer, "https://other.example.org")],
    ["without an address", (xml: string) => xml.replaceAll("HTTP-Redirect", "SOAP")],
    [
      "with a script for an address",
      (xml: string) => xml.replace(/Location="[^"]*"/, 'Location="javascript:1"'),
    ],
    ["that is no XML", () => "metadata"],
    ["with a document type", (xml: string) => `<!DOCTYPE a>${xml}`],
  ] as const) {
    it(`refuses metadata ${what}`, () => {
      expect(() => samlSsoUrl(change(idp.metadata()), idp.issuer)).to.throw(SamlRefused);
    });
  }
});
