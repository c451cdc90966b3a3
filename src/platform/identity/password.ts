import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";

import { Limit } from "../limit.ts";

/**
 * scrypt with N = 2^15, r = 8, p = 3 (the second of the settings OWASP's password storage page
 * recommends): 32 MiB and about a fifth of a second a guess.
 */
const cost = { N: 2 ** 15, r: 8, p: 3 } as const;
const keyBytes = 32;
const saltBytes = 16;
/** Hashing runs in libuv's pool of four threads: two are left to everything else. */
const concurrentMax = 2;

/** A text `scrypt$N$r$p$salt$key` (base64url), which carries its own cost settings. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const key = await derive(password, salt, cost);
  const { N, r, p } = cost;
  return ["scrypt", N, r, p, salt.toString("base64url"), key.toString("base64url")].join("$");
}

/**
 * Whether the password is the one hashed. Without a hash (no such user, no password set) the same
 * work is done and the answer is no, so that the time taken reveals nothing.
 */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const [scheme, n, r, p, salt = "", key = ""] = (hash ?? "").split("$");
  if (scheme !== "scrypt") {
    await derive(password, Buffer.alloc(saltBytes), cost);
    return false;
  }
  const settings = { N: Number(n), r: Number(r), p: Number(p) };
  const expected = Buffer.from(key, "base64url");
  const actual = await derive(password, Buffer.from(salt, "base64url"), settings);
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

const hashing = new Limit({
  name: "password.hashes",
  total: concurrentMax,
  share: 1,
  whenFull: "wait",
});

function derive(
  password: string,
  salt: Buffer,
  { N, r, p }: Readonly<{ N: number; r: number; p: number }>,
): Promise<Buffer> {
  const options = { N, r, p, maxmem: 256 * N * r };
  return hashing.run(() => scryptKey(password.normalize("NFC"), salt, options));
}

function scryptKey(password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, keyBytes, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}
