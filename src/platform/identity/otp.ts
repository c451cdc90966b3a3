import { randomInt } from "node:crypto";
import { Secret, TOTP } from "otpauth";

/** The defaults of every authenticator app: RFC 6238 with SHA-1, 6 digits, 30 seconds. */
const form = { algorithm: "SHA1", digits: 6, period: 30 } as const;
/** Clocks differ, and people type slowly: the code before and after count as well (5.2). */
const windowSteps = 1;
/** As long as the hash, RFC 4226, 4. */
const secretBytes = 20;

/** A new secret, base32. */
export function newOtpSecret(): string {
  return new Secret({ size: secretBytes }).base32;
}

/** What an authenticator app reads. */
export function otpAddress(secret: string, label: string): string {
  const issuer = "Ledgerforge";
  return new TOTP({ ...form, issuer, label, secret: Secret.fromBase32(secret) }).toString();
}

/**
 * The address as a QR code (ISO/IEC 18004), for an app to read from the screen: rows of squares, true where
 * dark, with the light margin that readers need.
 */
export async function otpSquares(address: string): Promise<readonly (readonly boolean[])[]> {
  // Loaded when the first user sets up a second factor.
  const { encodeQR } = await import("qr");
  return encodeQR(address, "raw", { ecc: "medium", border: 4 });
}

/** Of which half minute since 1970 the code is; undefined when it is of none that counts now. */
export function otpStep(secret: string, code: string, now: Date): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const timestamp = now.getTime();
  const totp = new TOTP({ ...form, secret: Secret.fromBase32(secret) });
  const delta = totp.validate({ token: code, timestamp, window: windowSteps });
  return delta === null ? undefined : TOTP.counter({ period: form.period, timestamp }) + delta;
}

/** Without what looks like something else. */
const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const recoveryCodes = 10;
const recoveryLength = 12;

/** Ten codes of 60 random bits. */
export function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: recoveryCodes }, () => {
    const pick = () => letters.charAt(randomInt(letters.length));
    const code = Array.from({ length: recoveryLength }, pick).join("");
    return code.replace(/(.{4})(?=.)/g, "$1-");
  });
}

/** As it was typed: spaces, dashes and small letters do not matter. */
export function normaliseCode(text: string): string {
  return text.replaceAll(/[\s-]/g, "").toUpperCase();
}
