import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

import type { Vault } from "./vault.ts";

/**
 * Access to REST and git, transport for the registries, runner for registering agents, agent and job for what
 * they do then, pipeline triggers, the two of OAuth.
 */
export const tokenPrefixes = {
  access: "lfat",
  transport: "lftt",
  runner: "lfrt",
  pipelineTrigger: "lfpt",
  agent: "lfag",
  job: "lfjt",
  oauthAccess: "lfoa",
  oauthRefresh: "lfor",
} as const;
export type TokenPrefix = (typeof tokenPrefixes)[keyof typeof tokenPrefixes];

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const entropyBytes = 32;
/** 62^43 > 2^256 and 62^6 > 2^32: the lengths are fixed, so the form can be checked. */
const secretLength = 43;
const checksumLength = 6;
const form = /^(?:lfat|lftt|lfrt|lfpt|lfag|lfjt|lfoa|lfor)_[0-9A-Za-z]{49}$/;

/**
 * `lfat_`, 32 random bytes in base62, and the CRC32 of all that in base62, by which a secret scanner
 * distinguishes a real token from an example.
 *
 * @param entropy 32 unpredictable bytes; random when not given
 */
export function newToken(prefix: TokenPrefix, entropy: Buffer = randomBytes(entropyBytes)): string {
  if (entropy.length !== entropyBytes) throw new Error(`A token takes ${entropyBytes} bytes`);
  const unsigned = `${prefix}_${base62(BigInt(`0x${entropy.toString("hex")}`), secretLength)}`;
  return unsigned + checksum(unsigned);
}

/**
 * The token that follows from a text and the secret key of the instance: a request that is repeated by its command id
 * gets the one that it made before, whose answer was lost.
 *
 * @param purpose distinguishes tokens of the same text
 */
export function derivedToken(
  { digest }: Pick<Vault, "digest">,
  { prefix, purpose, of }: Readonly<{ prefix: TokenPrefix; purpose: string; of: string }>,
): string {
  return newToken(prefix, Buffer.from(digest(purpose, of), "hex"));
}

/** Whether the text can be a token at all: cheap, before anything is looked up. */
export function isToken(text: string): boolean {
  if (!form.test(text)) return false;
  return checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}

/** Whether the text is meant as a token of any kind, right or wrong; no password begins so. */
export const looksLikeToken = (text: string): boolean => /^lf[a-z]{2}_/.test(text);

/**
 * The stored form: SHA-256, hex. Comparing hashes in an index reveals nothing about the
 * token, and 256 random bits need no slow hash.
 */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

function checksum(text: string): string {
  return base62(BigInt(crc32(text)), checksumLength);
}

function base62(value: bigint, length: number): string {
  let text = "";
  for (let rest = value; rest > 0n; rest /= 62n) text = digits.charAt(Number(rest % 62n)) + text;
  return text.padStart(length, "0");
}
