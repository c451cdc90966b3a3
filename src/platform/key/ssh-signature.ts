import { createHash, verify } from "node:crypto";

import { readStrings, type SshVerificationKey } from "./ssh-key.ts";

export type SshSignature = Readonly<{
  /** What was signed: RFC 4252 §7. */
  message: Buffer;
  /** Without the name of its algorithm; of ecdsa keys in DER, as OpenSSL takes it. */
  signature: Buffer;
  /** Of RSA keys: which of the algorithms of RFC 8332 was used. */
  hash: "sha256" | "sha512" | undefined;
}>;

/** Flag of a security device: a user touched it. */
const userPresent = 0x01;

/** Whether the signature was made with the private half of the key. SHA-1 is not taken any more. */
export function isSshSignature(
  { type, key, application }: SshVerificationKey,
  { message, signature, hash }: SshSignature,
): boolean {
  if (application !== null)
    return isDeviceSignature(type, { key, application }, { message, signature });
  switch (type) {
    case "ssh-ed25519":
      return verify(null, message, key, signature);
    case "ecdsa-sha2-nistp256":
      return verify("sha256", message, key, signature);
    case "ecdsa-sha2-nistp384":
      return verify("sha384", message, key, signature);
    case "ecdsa-sha2-nistp521":
      return verify("sha512", message, key, signature);
    case "ssh-rsa":
      return hash !== undefined && verify(hash, message, key, signature);
    default:
      return false;
  }
}

/**
 * A FIDO device signs a hash of the application, its flags, its counter and a hash of the message;
 * PROTOCOL.u2f of OpenSSH, "SSH U2F signatures". Flags and counter follow the signature.
 */
function isDeviceSignature(
  type: string,
  { key, application }: Readonly<{ key: SshVerificationKey["key"]; application: Buffer }>,
  { message, signature }: Readonly<{ message: Buffer; signature: Buffer }>,
): boolean {
  const tail = signature.subarray(-5);
  const body = signature.subarray(0, -5);
  if (tail.length !== 5 || ((tail[0] ?? 0) & userPresent) === 0) return false;
  const signed = Buffer.concat([digest(application), tail, digest(message)]);
  if (type === "sk-ssh-ed25519@openssh.com") return verify(null, signed, key, body);
  const [r, s, more] = readStrings(body) ?? [];
  if (r === undefined || s === undefined || more !== undefined) return false;
  return verify("sha256", signed, key, derSignature(r, s));
}

const digest = (bytes: Buffer): Buffer => createHash("sha256").update(bytes).digest();

/** Two numbers of a curve of 256 bits: lengths stay below 128, one byte each. */
function derSignature(r: Buffer, s: Buffer): Buffer {
  const numbers = [r, s].map((value) => Buffer.concat([Buffer.from([2, value.length]), value]));
  const body = Buffer.concat(numbers);
  if (r.length > 33 || s.length > 33) return Buffer.alloc(0);
  return Buffer.concat([Buffer.from([0x30, body.length]), body]);
}
