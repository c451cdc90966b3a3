import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";

import { Refusal } from "../refusal.ts";
import { withoutTrailing } from "../trim.ts";

export type SshPublicKey = Readonly<{
  /** `type base64`, written anew from what was understood; options and comments are dropped. */
  line: string;
  /** As `ssh-keygen -l` prints it: `SHA256:` and base64 without padding. */
  fingerprint: string;
}>;

export const sshKeyLengthMax = 16 * 1024;
const rsaBitsMin = 2048;
/** What OpenSSH takes at most; larger ones only cost time. */
const rsaBitsMax = 16_384;

/**
 * One line of an `authorized_keys` file without options: RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4
 * and, for keys on security devices, PROTOCOL.u2f of OpenSSH. Points must lie on their curve.
 *
 * @throws Refusal `unprocessable` with `ssh_key.invalid` or `ssh_key.weak`
 */
export function parseSshPublicKey(text: string): SshPublicKey {
  const { line, fingerprint } = readSshPublicKey(text);
  return { line, fingerprint };
}

export type SshVerificationKey = SshPublicKey &
  Readonly<{
    type: string;
    key: KeyObject;
    /** What a security device signs for, `ssh:`; null for keys that are in software. */
    application: Buffer | null;
  }>;

/** The same with what signatures are checked by. @throws Refusal as `parseSshPublicKey` */
export function readSshPublicKey(text: string): SshVerificationKey {
  const given = text.trim();
  const [, type = "", encoded = ""] = /^(\S+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t].*)?$/.exec(
    given.length <= sshKeyLengthMax ? given : "",
  ) ?? [undefined];
  const blob = Buffer.from(encoded, "base64");
  // Decoding is lenient; a text that is not what its bytes encode to has something to hide.
  if (blob.length === 0 || blob.toString("base64") !== encoded) throw invalid();
  const [inner, ...fields] = readStrings(blob) ?? [];
  if (inner === undefined || inner.toString("latin1") !== type) throw invalid();
  const { key, application = null } = readFields(type, fields);
  const fingerprint = withoutTrailing(createHash("sha256").update(blob).digest("base64"), "=");
  const line = `${type} ${encoded}`;
  return { line, fingerprint: `SHA256:${fingerprint}`, type, key, application };
}

const curves: Readonly<Record<string, Readonly<{ crv: string; bytes: number }>>> = {
  nistp256: { crv: "P-256", bytes: 32 },
  nistp384: { crv: "P-384", bytes: 48 },
  nistp521: { crv: "P-521", bytes: 66 },
};

type Understood = Readonly<{ key: KeyObject; application?: Buffer | undefined }>;

function readFields(type: string, fields: readonly Buffer[]): Understood {
  const [first = Buffer.alloc(0), second = Buffer.alloc(0), third] = fields;
  switch (type) {
    case "ssh-ed25519":
      mustHave(fields, 1);
      return { key: ed25519(first) };
    case "sk-ssh-ed25519@openssh.com":
      mustHave(fields, 2);
      return { key: ed25519(first), application: second };
    case "ecdsa-sha2-nistp256":
    case "ecdsa-sha2-nistp384":
    case "ecdsa-sha2-nistp521":
      mustHave(fields, 2);
      return { key: pointOn(type.slice("ecdsa-sha2-".length), first, second) };
    case "sk-ecdsa-sha2-nistp256@openssh.com":
      mustHave(fields, 3);
      return { key: pointOn("nistp256", first, second), application: third };
    case "ssh-rsa":
      mustHave(fields, 2);
      return { key: rsa(first, second) };
    default:
      throw invalid("Keys of the types ed25519, ecdsa and rsa are accepted.");
  }
}

function ed25519(key: Buffer): KeyObject {
  if (key.length !== 32) throw invalid();
  return mustBeKey({ kty: "OKP", crv: "Ed25519", x: key.toString("base64url") });
}

function pointOn(name: string, curveName: Buffer, point: Buffer): KeyObject {
  const curve = curves[name];
  if (curve === undefined || curveName.toString("latin1") !== name) throw invalid();
  const { crv, bytes } = curve;
  // 4 says that both coordinates follow.
  if (point.length !== 1 + 2 * bytes || point[0] !== 4) throw invalid();
  return mustBeKey({
    kty: "EC",
    crv,
    x: point.subarray(1, 1 + bytes).toString("base64url"),
    y: point.subarray(1 + bytes).toString("base64url"),
  });
}

function rsa(exponent: Buffer, modulus: Buffer): KeyObject {
  const [e, n] = [positive(exponent), positive(modulus)];
  const bits = n.toString(2).length;
  if (bits < rsaBitsMin) throw weak(`An RSA key needs at least ${rsaBitsMin} bits.`);
  if (bits > rsaBitsMax || n % 2n === 0n) throw invalid();
  if (e < 3n || e % 2n === 0n || e >= 2n ** 64n)
    throw weak("The exponent of this RSA key is weak.");
  return mustBeKey({
    kty: "RSA",
    e: exponent.toString("base64url"),
    n: modulus.toString("base64url"),
  });
}

/** An mpint of RFC 4251 §5, above zero and in its shortest form. */
function positive(bytes: Buffer): bigint {
  const [first = 0, second = 0] = bytes;
  const padded = first === 0 && second < 0x80;
  if (bytes.length === 0 || first >= 0x80 || padded) throw invalid();
  return BigInt(`0x${bytes.toString("hex")}`);
}

/** Strings of RFC 4251 §5 to the very end; undefined when the bytes do not come out even. */
export function readStrings(blob: Buffer): readonly Buffer[] | undefined {
  const strings: Buffer[] = [];
  let offset = 0;
  while (offset < blob.length) {
    if (offset + 4 > blob.length) return undefined;
    const end = offset + 4 + blob.readUInt32BE(offset);
    if (end > blob.length) return undefined;
    strings.push(blob.subarray(offset + 4, end));
    offset = end;
  }
  return strings;
}

function mustHave(fields: readonly Buffer[], count: number): void {
  if (fields.length !== count) throw invalid();
}

function mustBeKey(key: JsonWebKey): KeyObject {
  try {
    return createPublicKey({ key, format: "jwk" });
  } catch {
    throw invalid();
  }
}

const invalid = (message = "This is not an SSH public key."): Refusal =>
  refusal("ssh_key.invalid", message);

const weak = (message: string): Refusal => refusal("ssh_key.weak", message);

function refusal(code: string, message: string): Refusal {
  const errors = [{ field: "publicKey", code, message }];
  return new Refusal("unprocessable", code, message, { errors });
}
