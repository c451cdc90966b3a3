import { createPublicKey, X509Certificate } from "node:crypto";

/** The text is no certificate we may rely on. The message may be shown to the user who gave it. */
export class BadCertificate extends Error {
  override readonly name = "BadCertificate";
}

const certificateTextMax = 65_536;
const certificatesMax = 10;
const rsaBitsMin = 2_048;

/** No five dashes stand within a block, so a beginning without its end is read once. */
const pemBlock = /-----BEGIN ([A-Z0-9 ]+)-----((?:[^-]|-{1,4}[^-])*)-----END ([A-Z0-9 ]+)-----/g;

/**
 * Reads X.509 certificates: PEM, one or several, or the bare base64 of one as SAML metadata has it.
 *
 * @param now when they have to be valid
 * @returns each as PEM, written anew from what was parsed
 * @throws BadCertificate that says what is wrong
 */
export function parseCertificates(text: string, now: Date): readonly string[] {
  if (text.length > certificateTextMax) throw new BadCertificate("It is too long.");
  const certificates = blocksOf(text).map((der) => checked(der, now));
  if (certificates.length > certificatesMax) {
    throw new BadCertificate(`It holds more than ${certificatesMax} certificates.`);
  }
  return certificates.map((certificate) => certificate.toString());
}

/** The same of what was checked when it was given: providers go on using a certificate that expired. */
export function parseStoredCertificates(text: string): readonly string[] {
  return blocksOf(text).map((der) => parsed(der).toString());
}

function blocksOf(text: string): readonly Buffer[] {
  const blocks = [...text.matchAll(pemBlock)].filter(([, label, , end]) => label === end);
  if (blocks.length === 0) return [decoded(text)];
  return blocks.map(([, label = "", body = ""]) => {
    if (label.includes("PRIVATE KEY")) {
      throw new BadCertificate("It holds a private key, which belongs to nobody but its owner.");
    }
    if (label !== "CERTIFICATE") {
      throw new BadCertificate(`It holds a ${label.toLowerCase()}, not a certificate.`);
    }
    return decoded(body);
  });
}

function decoded(text: string): Buffer {
  const base64 = text.replaceAll(/\s+/g, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) {
    throw new BadCertificate("It is neither PEM nor base64.");
  }
  return Buffer.from(base64, "base64");
}

function checked(der: Buffer, now: Date): X509Certificate {
  const certificate = parsed(der);
  const until = new Date(certificate.validTo);
  if (until < now) {
    throw new BadCertificate(`It expired on ${until.toISOString().slice(0, 10)}.`);
  }
  const from = new Date(certificate.validFrom);
  if (from > now) {
    throw new BadCertificate(`It is not valid before ${from.toISOString().slice(0, 10)}.`);
  }
  mustHaveStrongKey(certificate);
  return certificate;
}

function parsed(der: Buffer): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch {
    throw new BadCertificate("It is not an X.509 certificate.");
  }
}

function mustHaveStrongKey(certificate: X509Certificate): void {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = keyOf(certificate);
  if (type === "rsa" || type === "rsa-pss") {
    const bits = details?.modulusLength ?? 0;
    if (bits >= rsaBitsMin) return;
    throw new BadCertificate(`Its RSA key has ${bits} bits; ${rsaBitsMin} are the least.`);
  }
  if (type !== "ec" && type !== "ed25519") {
    throw new BadCertificate(`Keys of the kind ${type ?? "unknown"} are not supported.`);
  }
}

function keyOf(certificate: X509Certificate) {
  try {
    return createPublicKey(certificate.publicKey.export({ type: "spki", format: "pem" }));
  } catch {
    throw new BadCertificate("Its key cannot be read.");
  }
}
