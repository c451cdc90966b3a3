import { hash } from "node:crypto";

/**
 * The digest in memory that small buffers share: `hash` would allocate for each 32 bytes apart, which takes as long as
 * to compute them.
 */
export const sha256 = (data: string | Uint8Array): Buffer =>
  Buffer.from(hash("sha256", data, "binary"), "binary");
