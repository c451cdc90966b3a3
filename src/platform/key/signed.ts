import { timingSafeEqual } from "node:crypto";

import type { Vault } from "./vault.ts";

/** Whether the texts are the same, in a time that does not depend on where they differ. */
export function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

const signature = (vault: Pick<Vault, "digest">, purpose: string, payload: string): string =>
  Buffer.from(vault.digest(purpose, payload), "hex").toString("base64url");

/**
 * A value as JSON in base64url, with an HMAC under a key derived from SECRET_KEY: those who hold it can read it and
 * not change it. Nothing is stored, so any process verifies it.
 */
export function signed(vault: Pick<Vault, "digest">, purpose: string, value: unknown): string {
  const payload = Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${payload}.${signature(vault, purpose, payload)}`;
}

/** Undefined for what was not signed here for this purpose. */
export function readSigned(vault: Pick<Vault, "digest">, purpose: string, text: string): unknown {
  const [payload = "", given = "", more] = text.split(".");
  if (more !== undefined || !isSame(given, signature(vault, purpose, payload))) return undefined;
  return JSON.parse(Buffer.from(payload, "base64url").toString());
}
