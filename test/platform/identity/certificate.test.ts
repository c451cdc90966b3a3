import { expect } from "chai";

import { parseCertificates } from "../../../src/platform/identity/certificate.ts";
import { givenCertificate } from "../../support/client/certificate.ts";

const { cert, key } = await givenCertificate({ name: "idp" });
const other = await givenCertificate({ name: "next", key: "ec" });
const weak = await givenCertificate({ key: "rsa:1024" });
const unsupported = await givenCertificate({ key: "ed448" });
const now = new Date();
const later = (days: number) => new Date(now.getTime() + days * 86_400_000);
const bare = cert.replaceAll(/-----[^-]+-----|\s/g, "");

describe("parsing certificates", () => {
  it("takes PEM, the bare base64 of metadata, and several at once", () => {
    const [parsed] = parseCertificates(cert, now);
    expect(parsed?.trim()).to.equal(cert);
    expect(parseCertificates(bare, now)).to.deep.equal([parsed]);
    expect(parseCertificates(`${cert}\r\n${other.cert}\n`, now)).to.have.length(2);
    expect(parseCertificates(bare.replaceAll(/.{64}/g, "$&\n"), now)).to.deep.equal([parsed]);
  });

  for (const [what, text, why, at] of [
    ["nothing", "", "neither PEM nor base64", now],
    ["a text", "not a certificate!", "neither PEM nor base64", now],
    ["base64 of something else", "bm90IGEgY2VydGlmaWNhdGU=", "not an X.509 certificate", now],
    ["half a certificate", bare.slice(0, 200), "not an X.509 certificate", now],
    ["a private key", key, "private key", now],
    ["a private key behind a certificate", `${cert}\n${key}`, "private key", now],
    ["one that expired", cert, "expired on", later(31)],
    ["one of tomorrow", cert, "not valid before", later(-1)],
    ["a weak key", weak.cert, "1024 bits", now],
    ["a key of another kind", unsupported.cert, "kind ed448", now],
    ["too many", `${cert}\n`.repeat(11), "more than 10", now],
    ["too much", "A".repeat(70_000), "too long", now],
    ["a request", cert.replaceAll("CERTIFICATE", "CERTIFICATE REQUEST"), "request, not", now],
  ] as const) {
    it(`refuses ${what}, saying why`, () => {
      expect(() => parseCertificates(text, at)).to.throw(why);
    });
  }
});
