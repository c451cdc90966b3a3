import { createHash } from "node:crypto";
import type { Recorded } from "./event.ts";

/**
 * JSON with one form for one value: members sorted by their names, no white space, numbers as
 * JavaScript writes them (RFC 8785).
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const members = value as Readonly<Record<string, unknown>>;
  let text = "";
  for (const name of Object.keys(members).sort()) {
    const member = members[name];
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/**
 * SHA-256 of what an event says and where it stands in its stream. Not of its position and time of
 * storage: those belong to the store, and a log that was moved to another must still verify.
 */
export function eventDigest(event: Recorded): Buffer {
  const known = digests.get(event);
  if (known !== undefined) return known;
  const { id, stream, revision, type, data, metadata } = event;
  const said = { data, id, metadata, revision: String(revision), stream, type };
  const digest = createHash("sha256").update(canonicalJson(said)).digest();
  digests.set(event, digest);
  return digest;
}

/** The audit, the chain and the tree ask for the same event's, one after another. */
const digests = new WeakMap<Recorded, Buffer>();

/** What a chain starts from. */
export const chainStart: Buffer = Buffer.alloc(32);

/** SHA-256 of the chain so far and the next event's digest: any change before shows in all after. */
export function chainNext(chain: Buffer, digest: Buffer): Buffer {
  return createHash("sha256").update(chain).update(digest).digest();
}
