import { z } from "zod";

/**
 * Personal data or a secret, encrypted under the key of one subject (a user or a project). Events
 * carry it only in this form: `sealed.<subject>.<base64url of iv, ciphertext and tag>`. Opening it
 * gives null once the subject's key has been deleted.
 */
export const Sealed = z
  .string()
  .regex(/^sealed\.[A-Za-z0-9-]+\.[A-Za-z0-9_-]+$/)
  .brand("Sealed");
export type Sealed = z.output<typeof Sealed>;

/** Under whose key it is sealed, and the sealed bytes in base64url. */
export function partsOfSealed(sealed: Sealed): Readonly<{ subject: string; box: string }> {
  const [, subject = "", box = ""] = sealed.split(".");
  return { subject, box };
}
