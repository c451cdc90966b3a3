import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

export type Certificate = Readonly<{ cert: string; key: string }>;

const dayMs = 24 * 60 * 60_000;

/** DER tags of X.690 that a certificate is made of. */
const tags = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  nothing: 0x05,
  identifier: 0x06,
  utf8: 0x0c,
  time: 0x17,
  sequence: 0x30,
  set: 0x31,
  version: 0xa0,
  extensions: 0xa3,
  dnsName: 0x82,
  address: 0x87,
} as const;

/** Object identifiers, encoded. */
const ids = {
  commonName: "550403",
  basicConstraints: "551d13",
  alternativeName: "551d11",
  rsaWithSha256: "2a864886f70d01010b",
  ecdsaWithSha256: "2a8648ce3d040302",
  ed448: "2b6571",
} as const;

/**
 * A self-signed certificate and its key, both PEM; valid for a month. Made without openssl(1), so that
 * tests need no more than Node.js.
 *
 * @param options `key`: "rsa:<bits>", "ec" (P-256) or "ed448"; `san`: "IP:<IPv4 address>" or "DNS:<name>"
 */
export async function givenCertificate(
  options: Readonly<{ name?: string; key?: string; san?: string }> = {},
): Promise<Certificate> {
  const { name = "test", key = "rsa:2048", san } = options;
  const { publicKey, privateKey, algorithm, digest } = newKey(key);
  const signed = toBeSigned({ name, san, algorithm, publicKey });
  const signature = sign(digest, signed, privateKey);
  const certificate = sequence(signed, algorithm, bits(signature));
  return {
    cert: pem("CERTIFICATE", certificate),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** @param kind as the option `key` of `givenCertificate` */
function newKey(kind: string) {
  if (kind === "ed448") {
    const algorithm = sequence(identifier(ids.ed448));
    return { ...generateKeyPairSync("ed448"), algorithm, digest: null };
  }
  if (kind === "ec") {
    const algorithm = sequence(identifier(ids.ecdsaWithSha256));
    return { ...generateKeyPairSync("ec", { namedCurve: "P-256" }), algorithm, digest: "sha256" };
  }
  const algorithm = sequence(identifier(ids.rsaWithSha256), der(tags.nothing));
  const modulusLength = Number(kind.split(":")[1]);
  return { ...generateKeyPairSync("rsa", { modulusLength }), algorithm, digest: "sha256" };
}

type Content = Readonly<{
  name: string;
  san: string | undefined;
  algorithm: Buffer;
  publicKey: KeyObject;
}>;

/** TBSCertificate of RFC 5280, section 4.1: issued to itself, and good for issuing. */
function toBeSigned({ name, san, algorithm, publicKey }: Content): Buffer {
  const commonName = sequence(identifier(ids.commonName), der(tags.utf8, Buffer.from(name)));
  const party = sequence(der(tags.set, commonName));
  const isAuthority = sequence(der(tags.boolean, Buffer.from([0xff])));
  const now = Date.now();
  return sequence(
    der(tags.version, der(tags.integer, Buffer.from([2]))),
    der(tags.integer, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    party,
    sequence(time(now - 60_000), time(now + 30 * dayMs)),
    party,
    publicKey.export({ type: "spki", format: "der" }),
    der(
      tags.extensions,
      sequence(
        extension(ids.basicConstraints, isAuthority),
        ...(san === undefined ? [] : [extension(ids.alternativeName, alternativeName(san))]),
      ),
    ),
  );
}

function alternativeName(text: string): Buffer {
  const [kind, value = ""] = text.split(":");
  if (kind === "DNS") return sequence(der(tags.dnsName, Buffer.from(value)));
  return sequence(der(tags.address, Buffer.from(value.split(".").map(Number))));
}

const extension = (id: string, value: Buffer) => sequence(identifier(id), der(tags.octets, value));
const identifier = (id: string) => der(tags.identifier, Buffer.from(id, "hex"));
const sequence = (...parts: readonly Buffer[]) => der(tags.sequence, ...parts);
const bits = (value: Buffer) => der(tags.bits, Buffer.from([0]), value);

/** UTCTime: `YYMMDDhhmmssZ`. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return der(tags.time, Buffer.from(digits.slice(2)));
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const length = Buffer.from(content.length.toString(16).padStart(4, "0"), "hex");
  return Buffer.concat([Buffer.from([tag, 0x80 + length.length]), length, content]);
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----`;
}
