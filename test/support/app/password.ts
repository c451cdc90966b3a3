import { randomBytes, scryptSync } from "node:crypto";

const cost = { N: 16, r: 8, p: 1 } as const;

/**
 * A hash that the service checks like its own, for a ten-thousandth of the work, which it reads from
 * the hash. What is about the work itself must not use it.
 */
export async function cheapHash(password: string): Promise<string> {
  const { N, r, p } = cost;
  const salt = randomBytes(16);
  const key = scryptSync(password.normalize("NFC"), salt, 32, cost);
  return ["scrypt", N, r, p, salt.toString("base64url"), key.toString("base64url")].join("$");
}
