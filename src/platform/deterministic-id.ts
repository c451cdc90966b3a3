import { createHash } from "node:crypto";

/**
 * The same parts always give the same UUID (version 8 of RFC 9562, from SHA-256), so that a
 * repeated step names the same thing. Parts are length-prefixed: ("a","bc") differs from ("ab","c").
 */
export function deterministicId(...parts: readonly (string | number)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    const text = String(part);
    hash.update(`${Buffer.byteLength(text)}:${text}`);
  }
  const bytes = hash.digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
